"""CDI: how a driver says what a container needs so that it can use a device.

A spec names devices of one kind (`vendor/class`) and, for each, edits of a container: variables,
device nodes, mounts, hooks. Here are the types, the rules (each broken one becomes a FieldError
with its JSON path), qualified names (`vendor/class=device`), and how edits add up. Not here:
files (drivers write them, runtimes read them) and applying edits to anything.

A spec states the version it is written in, and older runtimes refuse newer ones: `required_version`
is the oldest that has all fields in use. Upstream counterpart: CNCF's container-device-interface,
SPEC.md 1.1.0 and its pkg/cdi and specs-go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import field

from dray.api.codec import decode_builtins, encode, parse_json
from dray.api.names import label_key
from dray.api.wire import Int64, Struct, always, replace
from dray.errors import DecodeError, FieldError, FieldErrorType, ParseError

__all__ = [
    "HOOK_NAMES",
    "VERSIONS",
    "ContainerEdits",
    "Device",
    "DeviceNode",
    "Hook",
    "IntelRdt",
    "Mount",
    "NetDevice",
    "QualifiedName",
    "Spec",
    "decode_spec",
    "encode_spec",
    "environment",
    "is_device_name",
    "is_qualified_name",
    "merge_edits",
    "parse_qualified_name",
    "read_spec",
    "required_version",
    "validate_edits",
    "validate_spec",
    "with_required_version",
]

# Every version that runtimes know, the oldest first.
VERSIONS: Final = ("0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")

HOOK_NAMES: Final = (
    "prestart",
    "createRuntime",
    "createContainer",
    "startContainer",
    "poststart",
    "poststop",
)

# What a Kubernetes object may have in annotations; CDI took the limit over.
ANNOTATION_BYTES_MAX: Final = 256 * 1024

# The kernel's name for a class of service is a directory below resctrl: one path component.
CLOS_ID_BYTES_MAX: Final = 4095


class DeviceNode(Struct):
    """A device file in the container; what is not said is taken from the file on the host."""

    path: str = always("")
    host_path: str = ""
    type: str = ""  # b, c, u or p
    major: Int64 = 0
    minor: Int64 = 0
    file_mode: Int64 | None = None
    permissions: str = ""  # of r, w and m
    uid: Int64 | None = None
    gid: Int64 | None = None


class Mount(Struct):
    """A path of the host, seen in the container."""

    host_path: str = always("")
    container_path: str = always("")
    options: tuple[str, ...] = ()
    type: str = ""


class Hook(Struct):
    """A program of the host that the runtime runs at some point of a container's life."""

    hook_name: str = always("")
    path: str = always("")
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout: Int64 | None = None  # seconds


class IntelRdt(Struct):
    """Cache and memory bandwidth by Intel's resource director."""

    clos_id: str = field(default="", name="closID")
    l3_cache_schema: str = ""
    mem_bw_schema: str = ""
    schemata: tuple[str, ...] = ()
    enable_monitoring: bool = False
    # Given up in 1.1.0 for enableMonitoring.
    enable_cmt: bool = field(default=False, name="enableCMT")
    enable_mbm: bool = field(default=False, name="enableMBM")


class NetDevice(Struct):
    """A network interface that moves from the host into the container."""

    host_interface_name: str = always("")
    name: str = always("")


class ContainerEdits(Struct):
    """What changes in a container that gets a device."""

    env: tuple[str, ...] = ()  # NAME=value
    device_nodes: tuple[DeviceNode, ...] = ()
    net_devices: tuple[NetDevice, ...] = ()
    hooks: tuple[Hook, ...] = ()
    mounts: tuple[Mount, ...] = ()
    intel_rdt: IntelRdt | None = None
    additional_gids: tuple[Int64, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything changes at all."""
        return self != _NO_EDITS


_NO_EDITS: Final = ContainerEdits()


class Device(Struct):
    """A device that containers can be given, and what it takes."""

    name: str = always("")
    annotations: Mapping[str, str] = field(default_factory=dict)
    container_edits: ContainerEdits = always(ContainerEdits)


class Spec(Struct):
    """One CDI file: devices of one kind."""

    cdi_version: str = always("")
    kind: str = always("")
    annotations: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[Device, ...] = always(())
    container_edits: ContainerEdits = ContainerEdits()


# Names -----------------------------------------------------------------------------------------

# Both begin with a letter and end with a letter or digit. A dot in a class needs 0.6.0.
_VENDOR_OR_CLASS: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DEVICE_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")

_NAME_RULE: Final = (
    "must begin with a letter, end with a letter or digit, and have only letters, digits, "
    "'_', '-' and '.' between"
)
_DEVICE_NAME_RULE: Final = (
    "must begin and end with a letter or digit, and have only letters, digits, '_', '-', '.' "
    "and ':' between"
)


class QualifiedName(NamedTuple):
    """A device as runtimes are told of it."""

    vendor: str
    device_class: str
    device: str

    @property
    def kind(self) -> str:
        """What the device's spec has as its kind."""
        return f"{self.vendor}/{self.device_class}"

    def __str__(self) -> str:
        return f"{self.vendor}/{self.device_class}={self.device}"


def parse_qualified_name(text: str) -> QualifiedName:
    """The parts of `vendor/class=device`. Raises ParseError."""
    kind, equals, device = text.partition("=")
    vendor, slash, device_class = kind.partition("/")
    if not equals or not slash:
        raise ParseError(text, "must be a CDI device name in the form vendor/class=device")
    for noun, part in (("vendor", vendor), ("class", device_class)):
        if not _VENDOR_OR_CLASS.fullmatch(part):
            raise ParseError(text, f"its {noun} {_NAME_RULE}")
    if not is_device_name(device):
        raise ParseError(text, f"its device {_DEVICE_NAME_RULE}")
    return QualifiedName(vendor, device_class, device)


def is_qualified_name(text: str) -> bool:
    """Whether the text has the form vendor/class=device."""
    try:
        parse_qualified_name(text)
    except ParseError:
        return False
    return True


def is_device_name(text: str) -> bool:
    """Whether a device may have this name in a spec."""
    return _DEVICE_NAME.fullmatch(text) is not None


def environment(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Variables in the form edits have them."""
    return tuple(f"{name}={value}" for name, value in variables.items())


# Edits that add up -----------------------------------------------------------------------------

T = TypeVar("T")


def merge_edits(*several: ContainerEdits) -> ContainerEdits:
    """The edits as if applied one after the other: of what can be there once, the last stays."""
    return ContainerEdits(
        env=_last(_all(several, "env"), lambda text: text.partition("=")[0]),
        device_nodes=_last(_all(several, "device_nodes"), lambda node: node.path),
        net_devices=_last(_all(several, "net_devices"), lambda device: device.host_interface_name),
        hooks=tuple(_all(several, "hooks")),
        mounts=_last(_all(several, "mounts"), lambda mount: mount.container_path),
        intel_rdt=next((edits.intel_rdt for edits in reversed(several) if edits.intel_rdt), None),
        # A process is in group 0 anyway or must not be.
        additional_gids=tuple(dict.fromkeys(g for g in _all(several, "additional_gids") if g)),
    )


def _all(several: Iterable[ContainerEdits], member: str) -> Iterator[Any]:
    for edits in several:
        yield from getattr(edits, member)


def _last(items: Iterable[T], key: Callable[[T], str]) -> tuple[T, ...]:
    found: dict[str, T] = {}
    for item in items:
        # Taken out first, so that it moves to the end: order decides what covers what.
        found.pop(key(item), None)
        found[key(item)] = item
    return tuple(found.values())


# Versions --------------------------------------------------------------------------------------


def required_version(spec: Spec) -> str:
    """The oldest version that has everything this spec uses."""
    edits = [spec.container_edits, *(device.container_edits for device in spec.devices)]
    _, _, device_class = spec.kind.partition("/")
    rdts = [each.intel_rdt for each in edits if each.intel_rdt is not None]
    if any(each.net_devices for each in edits) or any(
        rdt.schemata or rdt.enable_monitoring for rdt in rdts
    ):
        return "1.1.0"
    if rdts or any(each.additional_gids for each in edits):
        return "0.7.0"
    if spec.annotations or any(device.annotations for device in spec.devices):
        return "0.6.0"
    if "." in device_class:
        return "0.6.0"
    if any(node.host_path for each in edits for node in each.device_nodes):
        return "0.5.0"
    if any(not device.name[:1].isalpha() for device in spec.devices):
        return "0.5.0"
    if any(mount.type for each in edits for mount in each.mounts):
        return "0.4.0"
    return VERSIONS[0]


def with_required_version(spec: Spec) -> Spec:
    """The spec, written so that the oldest possible runtime takes it."""
    return replace(spec, cdi_version=required_version(spec))


# Rules -----------------------------------------------------------------------------------------


def validate_spec(spec: Spec) -> tuple[FieldError, ...]:
    """Every rule the spec breaks; none means that runtimes take it."""
    return tuple(_spec_errors(spec))


def validate_edits(edits: ContainerEdits, path: str = "") -> tuple[FieldError, ...]:
    """Every rule that edits break by themselves."""
    return tuple(_edits_errors(edits, path))


def _spec_errors(spec: Spec) -> Iterator[FieldError]:
    yield from _version_errors(spec)
    vendor, slash, device_class = spec.kind.partition("/")
    if not slash:
        yield _invalid("kind", spec.kind, "must have the form vendor/class")
    else:
        for noun, part in (("vendor", vendor), ("class", device_class)):
            if not _VENDOR_OR_CLASS.fullmatch(part):
                yield _invalid("kind", spec.kind, f"the {noun} {_NAME_RULE}")
    yield from _annotation_errors(spec.annotations, "annotations")
    yield from _edits_errors(spec.container_edits, "containerEdits")
    if not spec.devices:
        yield FieldError(FieldErrorType.REQUIRED, "devices", detail="at least one device")
    seen: set[str] = set()
    for index, device in enumerate(spec.devices):
        path = f"devices[{index}]"
        if not is_device_name(device.name):
            yield _invalid(f"{path}.name", device.name, _DEVICE_NAME_RULE)
        if device.name in seen:
            yield FieldError(FieldErrorType.DUPLICATE, f"{path}.name", device.name)
        seen.add(device.name)
        yield from _annotation_errors(device.annotations, f"{path}.annotations")
        if not device.container_edits:
            yield _required(f"{path}.containerEdits", "a device must change something")
        yield from _edits_errors(device.container_edits, f"{path}.containerEdits")


def _version_errors(spec: Spec) -> Iterator[FieldError]:
    if spec.cdi_version not in VERSIONS:
        detail = f"supported values: {', '.join(VERSIONS)}"
        yield FieldError(
            FieldErrorType.NOT_SUPPORTED, "cdiVersion", spec.cdi_version, detail=detail
        )
        return
    required = required_version(spec)
    if VERSIONS.index(spec.cdi_version) < VERSIONS.index(required):
        yield _invalid("cdiVersion", spec.cdi_version, f"fields in use need {required} or newer")


def _annotation_errors(annotations: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for key in annotations:
        # Keys are compared as Kubernetes does it for annotations: without regard to case.
        for message in label_key(key.lower()):
            yield _invalid(path, key, message)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > ANNOTATION_BYTES_MAX:
        detail = f"may not be more than {ANNOTATION_BYTES_MAX} bytes"
        yield FieldError(FieldErrorType.TOO_LONG, path, detail=detail)


def _edits_errors(edits: ContainerEdits, path: str) -> Iterator[FieldError]:
    at = f"{path}." if path else ""
    yield from _environment_errors(edits.env, f"{at}env")
    for index, node in enumerate(edits.device_nodes):
        yield from _device_node_errors(node, f"{at}deviceNodes[{index}]")
    yield from _net_device_errors(edits.net_devices, f"{at}netDevices")
    for index, hook in enumerate(edits.hooks):
        yield from _hook_errors(hook, f"{at}hooks[{index}]")
    for index, mount in enumerate(edits.mounts):
        yield from _nonempty(f"{at}mounts[{index}].hostPath", mount.host_path)
        yield from _nonempty(f"{at}mounts[{index}].containerPath", mount.container_path)
    if edits.intel_rdt is not None:
        yield from _rdt_errors(edits.intel_rdt, f"{at}intelRdt")
    for index, gid in enumerate(edits.additional_gids):
        yield from _uint32_errors(f"{at}additionalGids[{index}]", gid)


def _environment_errors(variables: tuple[str, ...], path: str) -> Iterator[FieldError]:
    for index, variable in enumerate(variables):
        name, equals, _ = variable.partition("=")
        if not name or not equals or "\0" in variable:
            yield _invalid(f"{path}[{index}]", variable, "must have the form NAME=value")


def _device_node_errors(node: DeviceNode, path: str) -> Iterator[FieldError]:
    yield from _nonempty(f"{path}.path", node.path)
    if node.type not in ("", "b", "c", "u", "p"):
        detail = 'supported values: "b", "c", "u", "p"'
        yield FieldError(FieldErrorType.NOT_SUPPORTED, f"{path}.type", node.type, detail=detail)
    if set(node.permissions) - set("rwm"):
        yield _invalid(f"{path}.permissions", node.permissions, "must be made of r, w and m")
    for name, number in (("fileMode", node.file_mode), ("uid", node.uid), ("gid", node.gid)):
        if number is not None:
            yield from _uint32_errors(f"{path}.{name}", number)


def _hook_errors(hook: Hook, path: str) -> Iterator[FieldError]:
    if hook.hook_name not in HOOK_NAMES:
        detail = f"supported values: {', '.join(HOOK_NAMES)}"
        yield FieldError(
            FieldErrorType.NOT_SUPPORTED, f"{path}.hookName", hook.hook_name, detail=detail
        )
    yield from _nonempty(f"{path}.path", hook.path)
    yield from _environment_errors(hook.env, f"{path}.env")


def _net_device_errors(devices: tuple[NetDevice, ...], path: str) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, device in enumerate(devices):
        for member, name in (
            ("hostInterfaceName", device.host_interface_name),
            ("name", device.name),
        ):
            yield from _nonempty(f"{path}[{index}].{member}", name)
            if name and (member, name) in seen:
                yield FieldError(FieldErrorType.DUPLICATE, f"{path}[{index}].{member}", name)
            seen.add((member, name))


def _rdt_errors(rdt: IntelRdt, path: str) -> Iterator[FieldError]:
    name = rdt.clos_id
    too_long = len(name.encode()) > CLOS_ID_BYTES_MAX
    if too_long or name in (".", "..") or "/" in name or "\n" in name:
        yield _invalid(f"{path}.closID", name, "must be one component of a path")


def _uint32_errors(path: str, number: int) -> Iterator[FieldError]:
    if not 0 <= number < 2**32:
        yield _invalid(path, number, "must be between 0 and 4294967295")


def _nonempty(path: str, text: str) -> Iterator[FieldError]:
    if not text:
        yield _required(path)


def _required(path: str, detail: str = "") -> FieldError:
    return FieldError(FieldErrorType.REQUIRED, path, detail=detail)


def _invalid(path: str, value: object, detail: str) -> FieldError:
    return FieldError(FieldErrorType.INVALID, path, value, detail)


# To and from files -----------------------------------------------------------------------------


def decode_spec(data: bytes) -> Spec:
    """The spec in a JSON document. Raises DecodeError, which lists what is wrong with it."""
    return read_spec(parse_json(data))


def read_spec(value: Any) -> Spec:
    """The spec in a document some parser turned into dicts and lists: YAML is one, too."""
    decoded = decode_builtins(value, Spec)
    if decoded.strict_problems:
        raise DecodeError(", ".join(decoded.strict_problems))
    problems = [DecodeError(error.body, path=error.field) for error in validate_spec(decoded.value)]
    if problems:
        first, *others = problems
        raise DecodeError(first.rule, path=first.path, others=others)
    return decoded.value


def encode_spec(spec: Spec) -> bytes:
    """The spec as JSON."""
    return encode(spec) + b"\n"
