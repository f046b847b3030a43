"""Valid objects of every kind, in v1 shape, that between them set every field.

Each call returns a fresh object: callers damage them freely. Times lie in the past, because the
oracle masks whatever upstream reads off the clock.
"""

from __future__ import annotations

from typing import Any

from tests.conformance.generate.case import Request
from tests.conformance.generate.versions import GROUP

PAST = "2025-03-01T10:00:00Z"
LATER = "2025-03-02T10:00:00Z"
DRIVER = "gpu.example.com"
OTHER_DRIVER = "nic.example.com"
SHARE_ID = "550e8400-e29b-41d4-a716-446655440000"
OTHER_SHARE_ID = "123e4567-e89b-12d3-a456-426614174000"
OBJECT_UID = "11111111-2222-3333-4444-555555555555"

# Gates that are off by default and that some field below needs.
ALPHA_GATES = {
    "DRADerivedAttributes": True,
    "DRAListTypeAttributes": True,
    "DRANodeAllocatableResources": True,
    "DRAOptionalNodeOperations": True,
    "DRAPartitionableDevicesType": True,
    "DRADeviceCompatibilityGroups": True,
    "DRAResourcePoolStatus": True,
}

# Upstream refuses to run with a gate on whose prerequisite is off.
DEPENDENT_GATES = {
    "DRADeviceTaints": ("DRADeviceTaintRules",),
    "DRAPartitionableDevices": ("DRAPartitionableDevicesType", "DRADeviceCompatibilityGroups"),
    "DRAResourcePoolStatus": ("DRAPartitionableDevicesType",),
    "DRAConsumableCapacity": ("DRAFractionalCapacityRange",),
    "ResourceHealthStatus": ("ResourceHealthStatusMessage",),
}

VALID_EXPRESSIONS = (
    "true",
    f'device.driver == "{DRIVER}"',
    f'device.attributes["{DRIVER}"].model == "A100"',
    f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("1Gi"))',
    f'"cuda" in device.attributes["{DRIVER}"] && device.allowMultipleAllocations',
)
BROKEN_EXPRESSIONS = (
    "",
    "device.",
    "nosuch == 1",
    "1 + 1",
    '"text"',
    "device.driver",
    "device.driver == 1",
    "[1, 2].all(x, x > 0",
)
# Nested loops over the largest list the estimator assumes.
COSTLY_EXPRESSION = (
    "["
    + ",".join(str(n) for n in range(100))
    + "].all(a, ["
    + ",".join(str(n) for n in range(100))
    + "].all(b, ["
    + ",".join(str(n) for n in range(100))
    + "].all(c, a + b + c >= 0)))"
)
LONG_EXPRESSION = "true" + " " * 10_237


def without(gate: str, gates: dict[str, bool] | None = None) -> dict[str, bool]:
    """The gates with one switched off, and with it those that need it."""
    return (gates or {}) | dict.fromkeys((gate, *DEPENDENT_GATES.get(gate, ())), False)


def metadata(name: str, *, namespace: str | None = None, **extra: Any) -> Request:
    result: Request = {"name": name}
    if namespace is not None:
        result["namespace"] = namespace
    return result | extra


def stored(root: Request, **extra: Any) -> Request:
    """The object as read back from a server: with identity and version."""
    return root | {
        "metadata": root["metadata"]
        | {"uid": OBJECT_UID, "resourceVersion": "7", "creationTimestamp": PAST}
        | extra
    }


def selector(expression: str = VALID_EXPRESSIONS[2]) -> Request:
    return {"cel": {"expression": expression}}


def opaque(driver: str = DRIVER, parameters: Any = None) -> Request:
    return {"driver": driver, "parameters": {"mode": "fast"} if parameters is None else parameters}


def toleration(**extra: Any) -> Request:
    return {
        "key": "example.com/flaky",
        "operator": "Equal",
        "value": "yes",
        "effect": "NoExecute",
        "tolerationSeconds": 30,
    } | extra


def exactly(**extra: Any) -> Request:
    return {"deviceClassName": "gpu.example.com"} | extra


def request(name: str, **extra: Any) -> Request:
    """A request for one device, or with other contents of `exactly`."""
    return {"name": name, "exactly": exactly(**extra)}


def choice(name: str, *subrequests: Request) -> Request:
    return {"name": name, "firstAvailable": list(subrequests)}


def subrequest(name: str, **extra: Any) -> Request:
    return {"name": name, "deviceClassName": "gpu.example.com"} | extra


def node_selector(*names: str) -> Request:
    return {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
            for name in names or ("node-1",)
        ]
    }


def labelled_nodes() -> Request:
    return {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "example.com/rack", "operator": "In", "values": ["a", "b"]},
                    {"key": "example.com/gen", "operator": "Gt", "values": ["3"]},
                    {"key": "example.com/ready", "operator": "Exists"},
                ]
            }
        ]
    }


def claim_spec() -> Request:
    return {
        "devices": {
            "requests": [
                request(
                    "gpu",
                    selectors=[selector()],
                    allocationMode="ExactCount",
                    count=2,
                    adminAccess=False,
                    tolerations=[toleration()],
                    capacity={"requests": {"memory": "4Gi"}},
                ),
                choice(
                    "any",
                    subrequest("big", count=1, selectors=[selector("true")]),
                    subrequest("small", tolerations=[toleration(operator="Exists", value="")]),
                ),
                request("rest", allocationMode="All"),
            ],
            "constraints": [
                {"requests": ["gpu", "any/big"], "matchAttribute": f"{DRIVER}/model"},
                {"distinctAttribute": f"{DRIVER}/slot"},
            ],
            "config": [{"requests": ["gpu"], "opaque": opaque()}],
        }
    }


def claim(spec: Request | None = None, **extra: Any) -> Request:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceClaim",
        "metadata": metadata("claim", namespace="default", **extra),
        "spec": claim_spec() if spec is None else spec,
    }


def derived_claim() -> Request:
    """A claim that needs the gate DRADerivedAttributes."""
    name = f"{DRIVER}/half"
    derived = [{"name": name, "expression": f'device.attributes["{DRIVER}"].model'}]
    return claim(
        {
            "devices": {
                "requests": [
                    request("gpu", derivedAttributes=derived),
                    choice("any", subrequest("big", derivedAttributes=derived)),
                ],
                "constraints": [{"requests": ["gpu", "any"], "matchAttribute": name}],
            }
        }
    )


def result(device: str = "gpu-0", **extra: Any) -> Request:
    return {"request": "gpu", "driver": DRIVER, "pool": "pool-1", "device": device} | extra


def device_status(device: str = "gpu-0", **extra: Any) -> Request:
    return {"driver": DRIVER, "pool": "pool-1", "device": device} | extra


def condition(name: str = "Ready", **extra: Any) -> Request:
    return {
        "type": name,
        "status": "True",
        "reason": "Works",
        "message": "all good",
        "lastTransitionTime": PAST,
        "observedGeneration": 1,
    } | extra


def consumer(number: int = 1, **extra: Any) -> Request:
    return {"resource": "pods", "name": f"pod-{number}", "uid": f"uid-{number}"} | extra


def allocation(**extra: Any) -> Request:
    return {
        "devices": {
            "results": [
                result(
                    tolerations=[toleration()],
                    bindingConditions=["example.com/attached"],
                    bindingFailureConditions=["example.com/broken"],
                    shareID=SHARE_ID,
                    consumedCapacity={"memory": "4Gi"},
                ),
                result("gpu-1", request="any/big"),
            ],
            "config": [
                {"source": "FromClass", "requests": ["gpu"], "opaque": opaque()},
                {"source": "FromClaim", "opaque": opaque(OTHER_DRIVER)},
            ],
        },
        "nodeSelector": node_selector("node-1"),
        "allocationTimestamp": PAST,
    } | extra


def claim_status() -> Request:
    return {
        "allocation": allocation(),
        "reservedFor": [
            consumer(1),
            consumer(2, apiGroup="scheduling.k8s.io", resource="podgroups"),
        ],
        "devices": [
            device_status(
                shareID=SHARE_ID,
                conditions=[condition(), condition("example.com/Attached", status="Unknown")],
                data={"vendor": {"lane": 4}},
                networkData={
                    "interfaceName": "net1",
                    "ips": ["10.1.2.3/24", "2001:db8::5/64"],
                    "hardwareAddress": "aa:bb:cc:dd:ee:ff",
                },
            ),
            device_status("gpu-1"),
        ],
    }


def template() -> Request:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata("template", namespace="default"),
        "spec": {
            "metadata": {"labels": {"app": "train"}, "annotations": {"example.com/note": "x"}},
            "spec": claim_spec(),
        },
    }


def device_class() -> Request:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceClass",
        "metadata": metadata("gpu.example.com", labels={"vendor": "example"}),
        "spec": {
            "selectors": [selector(VALID_EXPRESSIONS[1]), selector(VALID_EXPRESSIONS[3])],
            "config": [{"opaque": opaque()}],
            "extendedResourceName": "example.com/gpu",
        },
    }


def taint(**extra: Any) -> Request:
    return {
        "key": "example.com/hot",
        "value": "very",
        "effect": "NoSchedule",
        "timeAdded": PAST,
    } | extra


def taint_rule() -> Request:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceTaintRule",
        "metadata": metadata("rule"),
        "spec": {
            "deviceSelector": {"driver": DRIVER, "pool": "pool-1", "device": "gpu-0"},
            "taint": taint(effect="NoExecute"),
        },
    }


def pool(**extra: Any) -> Request:
    return {"name": "pool-1", "generation": 3, "resourceSliceCount": 2} | extra


def slice_of(*devices: Request, **spec: Any) -> Request:
    """A slice on one node; keyword arguments replace or, with None, remove fields of the spec."""
    full: Request = {
        "driver": DRIVER,
        "pool": pool(),
        "nodeName": "node-1",
        "devices": list(devices),
    }
    full |= spec
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceSlice",
        "metadata": metadata("slice"),
        "spec": {key: value for key, value in full.items() if value is not None},
    }


def device(name: str = "gpu-0", **extra: Any) -> Request:
    return {"name": name} | extra


def plain_slice() -> Request:
    return slice_of(
        device(
            attributes={
                "model": {"string": "A100"},
                "index": {"int": 3},
                f"{DRIVER}/healthy": {"bool": True},
                "driverVersion": {"version": "1.2.3-rc.1+build5"},
            },
            capacity={"memory": {"value": "80Gi"}, "example.com/lanes": {"value": "16"}},
            taints=[taint(), taint(key="example.com/slow", value="", effect="None")],
            bindsToNode=True,
            bindingConditions=["example.com/attached"],
            bindingFailureConditions=["example.com/broken"],
        ),
        device("gpu-1"),
    )


def shared_slice() -> Request:
    """Devices that several claims may share, with every request policy."""
    return slice_of(
        device(
            allowMultipleAllocations=True,
            capacity={
                "memory": {
                    "value": "80Gi",
                    "requestPolicy": {
                        "default": "8Gi",
                        "validRange": {"min": "4Gi", "max": "40Gi", "step": "4Gi"},
                    },
                },
                "lanes": {
                    "value": "16",
                    "requestPolicy": {"default": "4", "validValues": ["1", "4", "16"]},
                },
                "share": {"value": "100", "requestPolicy": {"default": "10"}},
            },
        ),
        nodeName=None,
        nodeSelector=labelled_nodes(),
    )


def counter_slice() -> Request:
    return slice_of(
        nodeName=None,
        allNodes=True,
        devices=None,
        sharedCounters=[
            {"name": "card-0", "counters": {"memory": {"value": "80Gi"}, "cores": {"value": "7"}}},
            {"name": "card-1", "counters": {"memory": {"value": "80Gi"}}},
        ],
    )


def partition_slice() -> Request:
    """Devices that draw on counters and each name their own nodes."""
    draws = [{"counterSet": "card-0", "counters": {"memory": {"value": "10Gi"}}}]
    return slice_of(
        device("part-0", consumesCounters=draws, nodeName="node-1"),
        device("part-1", consumesCounters=draws, nodeSelector=labelled_nodes()),
        device("part-2", allNodes=True),
        nodeName=None,
        perDeviceNodeSelection=True,
    )


def alpha_slice() -> Request:
    """Everything that needs a gate of `ALPHA_GATES`."""
    return slice_of(
        device(
            attributes={
                "numa": {"ints": [0, 1]},
                "flags": {"bools": [True, False]},
                "links": {"strings": ["a", "b"]},
                "supported": {"versions": ["1.0.0", "2.0.0-rc.1"]},
                "profile": {"string": "1g.10gb"},
            },
            capacity={"memory": {"value": "80Gi"}},
            consumesCounters=[
                {
                    "counterSet": "card-0",
                    "counters": {"memory": {"value": "10Gi"}},
                    "compatibilityGroups": ["mig", "vgpu"],
                }
            ],
            nodeAllocatableResources={
                "memory": {
                    "mapping": {"capacityKey": "memory", "capacityMultiplier": "1"},
                    "overhead": {"perPod": "100Mi", "perContainer": "10Mi"},
                },
                "cpu": {"mapping": {"deviceMultiplier": "2"}},
            },
        ),
        partitionTypeAttribute=f"{DRIVER}/profile",
        skipNodeOperations=["NodePrepareResources", "NodeUnprepareResources"],
    )


def pool_request() -> Request:
    return {
        "apiVersion": f"{GROUP}/v1alpha3",
        "kind": "ResourcePoolStatusRequest",
        "metadata": metadata("question"),
        "spec": {
            "driver": DRIVER,
            "poolName": "pool-1",
            "limit": 50,
            "defaultPartitionTypeAttribute": f"{DRIVER}/profile",
        },
    }


def pool_request_status() -> Request:
    return {
        "poolCount": 1,
        "pools": [
            {
                "driver": DRIVER,
                "poolName": "pool-1",
                "nodeName": "node-1",
                "totalDevices": 8,
                "allocatedDevices": 3,
                "availableDevices": 4,
                "unavailableDevices": 1,
                "resourceSliceCount": 2,
                "generation": 5,
                "validationError": "one slice is missing",
                "partitionSummary": [
                    {
                        "attribute": f"{DRIVER}/profile",
                        "type": "1g.10gb",
                        "total": 7,
                        "allocatable": 4,
                    }
                ],
                "shareableSummary": {
                    "fullyAvailableDevices": 2,
                    "partiallyAvailableDevices": 1,
                    "capacity": [
                        {"name": "memory", "total": "80Gi", "consumed": "8Gi", "available": "72Gi"}
                    ],
                },
            }
        ],
        "conditions": [condition("Complete")],
    }
