"""Feature gates: upstream's names, stages and defaults as of Kubernetes 1.37.

FEATURES is the one table; docs/reference/feature-gates.md is generated from it. FeatureGates is
one choice of settings, checked when it is made: an unknown name, a locked gate set otherwise, or
a gate whose dependency is off is refused at once, not met later as a silent no-op. Upstream
counterpart: pkg/features/kube_features.go and component-base/featuregate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final, Self

from dray.errors import ConfigurationError

__all__ = ["DEFAULT_GATES", "FEATURES", "Feature", "FeatureGates", "Stage"]


class Stage(Enum):
    """How settled a feature is."""

    ALPHA = "Alpha"
    BETA = "Beta"
    GA = "GA"


@dataclass(frozen=True, slots=True)
class Feature:
    """One gate."""

    name: str
    stage: Stage
    default: bool
    since: str  # the release in which the gate reached this stage
    purpose: str
    locked: bool = False
    needs: tuple[str, ...] = ()


_DRA: Final = "DynamicResourceAllocation"

_TABLE: Final = (
    Feature(_DRA, Stage.GA, True, "1.34", "Everything: claims, classes, slices", locked=True),
    Feature(
        "DRAAdminAccess",
        Stage.GA,
        True,
        "1.36",
        "Claims that may look at devices in use, in namespaces that allow it",
        locked=True,
        needs=(_DRA,),
    ),
    Feature(
        "DRAConsumableCapacity",
        Stage.BETA,
        True,
        "1.36",
        "Devices shared by several claims, capacity requests, distinctAttribute",
        needs=(_DRA,),
    ),
    Feature(
        "DRADerivedAttributes",
        Stage.ALPHA,
        False,
        "1.37",
        "Attributes computed from a device for constraints",
        needs=(_DRA,),
    ),
    Feature(
        "DRADeviceBindingConditions",
        Stage.BETA,
        True,
        "1.36",
        "Binding waits until a device's conditions are met",
        needs=(_DRA, "DRAResourceClaimDeviceStatus"),
    ),
    Feature(
        "DRADeviceCompatibilityGroups",
        Stage.ALPHA,
        False,
        "1.37",
        "Partitions that may be in use side by side",
        needs=(_DRA, "DRAPartitionableDevices"),
    ),
    Feature(
        "DRADeviceTaintRules",
        Stage.GA,
        True,
        "1.37",
        "Taints set by an administrator through DeviceTaintRule",
        needs=(_DRA, "DRADeviceTaints"),
    ),
    Feature(
        "DRADeviceTaints",
        Stage.GA,
        True,
        "1.37",
        "Device taints, tolerations, eviction",
        needs=(_DRA,),
    ),
    Feature(
        "DRAExtendedResource",
        Stage.GA,
        True,
        "1.37",
        "Pods that get devices through resources.requests",
        locked=True,
        needs=(_DRA,),
    ),
    # Upstream turns it on only where no component older than 1.37 may be around, which is not what
    # a 1.37 server assumes by itself.
    Feature(
        "DRAFractionalCapacityRange",
        Stage.BETA,
        False,
        "1.37",
        "Capacity ranges in fractions of a unit",
        needs=("DRAConsumableCapacity",),
    ),
    Feature(
        "DRAListTypeAttributes",
        Stage.ALPHA,
        False,
        "1.36",
        "Attributes with several values",
        needs=(_DRA,),
    ),
    Feature(
        "DRANodeAllocatableResources",
        Stage.ALPHA,
        False,
        "1.36",
        "Devices that count as a node's cpu or memory",
        needs=(_DRA,),
    ),
    Feature(
        "DRAOptionalNodeOperations",
        Stage.ALPHA,
        False,
        "1.37",
        "Devices that need no preparation on the node",
        needs=(_DRA, "NodeDeclaredFeatures"),
    ),
    Feature(
        "DRAPartitionableDevices",
        Stage.BETA,
        True,
        "1.36",
        "Devices cut from shared counters, node selection per device",
        needs=(_DRA,),
    ),
    Feature(
        "DRAPartitionableDevicesType",
        Stage.ALPHA,
        False,
        "1.37",
        "Partitions counted by type in pool status",
        needs=(_DRA, "DRAPartitionableDevices", "DRAResourcePoolStatus"),
    ),
    Feature(
        "DRAPrioritizedList",
        Stage.GA,
        True,
        "1.36",
        "Requests with alternatives (firstAvailable)",
        locked=True,
        needs=(_DRA,),
    ),
    Feature(
        "DRAResourceClaimDeviceStatus",
        Stage.GA,
        True,
        "1.37",
        "Reports of drivers in status.devices",
        locked=True,
        needs=(_DRA,),
    ),
    Feature(
        "DRAResourceClaimGranularStatusAuthorization",
        Stage.BETA,
        True,
        "1.36",
        "Separate rights for allocating and for reporting",
        needs=(_DRA, "DRAResourceClaimDeviceStatus"),
    ),
    Feature(
        "DRAResourcePoolStatus",
        Stage.ALPHA,
        False,
        "1.36",
        "Answers to ResourcePoolStatusRequest",
        needs=(_DRA,),
    ),
    Feature(
        "DRASchedulerFilterTimeout",
        Stage.BETA,
        True,
        "1.34",
        "A bound on the search per node",
        needs=(_DRA,),
    ),
    Feature(
        "DRAWorkloadResourceClaims",
        Stage.BETA,
        False,
        "1.37",
        "Claims shared by the pods of a PodGroup",
        needs=(_DRA, "GenericWorkload"),
    ),
    Feature("GenericWorkload", Stage.BETA, False, "1.37", "PodGroups"),
    Feature(
        "KubeletPodResourcesDynamicResources",
        Stage.GA,
        True,
        "1.36",
        "Claims in the pod resources API of the node",
        locked=True,
    ),
    Feature(
        "KubeletPodResourcesGet",
        Stage.GA,
        True,
        "1.36",
        "Single pods in the pod resources API of the node",
        locked=True,
    ),
    Feature(
        "NodeDeclaredFeatures",
        Stage.GA,
        True,
        "1.37",
        "Nodes that say which features they support",
        locked=True,
    ),
    Feature(
        "ResourceHealthStatus",
        Stage.BETA,
        True,
        "1.36",
        "Device health in a pod's status",
        needs=(_DRA,),
    ),
    Feature(
        "ResourceHealthStatusMessage",
        Stage.BETA,
        True,
        "1.36",
        "The sentence that goes with it",
        needs=("ResourceHealthStatus",),
    ),
)

FEATURES: Final[Mapping[str, Feature]] = {feature.name: feature for feature in _TABLE}


class FeatureGates:
    """Which features are on. Immutable; equal settings are equal and hash alike."""

    __slots__ = ("_on",)

    def __init__(self, settings: Mapping[str, bool] | None = None) -> None:
        settings = settings or {}
        for name, value in settings.items():
            _check_setting(name, value)
        self._on = frozenset(
            feature.name
            for feature in FEATURES.values()
            if settings.get(feature.name, feature.default)
        )
        for name in sorted(self._on):
            missing = [need for need in FEATURES[name].needs if need not in self._on]
            if missing:
                raise ConfigurationError(
                    f"feature gate {name} is on, but needs {', '.join(missing)}, which is off"
                )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Settings as on a command line: `DRADeviceTaints=false,DRAListTypeAttributes=true`.

        `AllAlpha` and `AllBeta` set every gate of that stage that is not set by name.
        """
        stages: dict[Stage, bool] = {}
        settings: dict[str, bool] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = part.partition("=")
            if not equals or value.strip().lower() not in _BOOLEANS:
                raise ConfigurationError(f"feature gate {part!r}: must be NAME=true or NAME=false")
            on = _BOOLEANS[value.strip().lower()]
            name = name.strip()
            if name in _STAGE_NAMES:
                stages[_STAGE_NAMES[name]] = on
            else:
                settings[name] = on
        for feature in FEATURES.values():
            if feature.stage in stages:
                settings.setdefault(feature.name, stages[feature.stage])
        return cls(settings)

    def __contains__(self, name: str) -> bool:
        if name not in FEATURES:
            raise ConfigurationError(_unknown(name))
        return name in self._on

    def enabled(self, name: str) -> bool:
        """Whether this feature is on."""
        return name in self

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._on))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureGates) and self._on == other._on

    def __hash__(self) -> int:
        return hash(self._on)

    def __repr__(self) -> str:
        changed = [
            f"{name}={'true' if name in self._on else 'false'}"
            for name, feature in FEATURES.items()
            if (name in self._on) != feature.default
        ]
        return f"FeatureGates({','.join(changed)!r})"


_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False, "t": True, "f": False}
_STAGE_NAMES: Final = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}


def _check_setting(name: str, value: bool) -> None:
    feature = FEATURES.get(name)
    if feature is None:
        raise ConfigurationError(_unknown(name))
    if feature.locked and value != feature.default:
        stands = "on" if feature.default else "off"
        raise ConfigurationError(f"feature gate {name} is locked {stands}: it cannot be changed")


def _unknown(name: str) -> str:
    near = get_close_matches(name, FEATURES, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown feature gate {name}{hint}"


DEFAULT_GATES: Final = FeatureGates()
