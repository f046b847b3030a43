"""Objects of a dump, as the server that has them would see them, and notes on what looks wrong.

Read are nodes, pods and what resource.k8s.io needs for allocation, in every version there is, with
defaults filled in and at the hub version. Everything else is passed over and counted. Objects that
break a rule are used all the same, with a note that names object, field and rule: whoever asks
why something does not work may have the answer there. Claims that are allocated are not checked,
because a server has taken them and nothing remains to be allocated; nodes and pods are not either.
Of large lists of JSON, which nobody writes by hand, no object with a uid is checked, because only
servers give one; and fields that are there twice are not noticed.

Where one object is there more than once, the last one counts: a dump can be followed by a
changed copy of one of its objects, to see what the change would do. Copies that differ are noted.

What cannot be read at all is an error if it is of resource.k8s.io, since an answer without it would
be wrong; a node or pod that cannot be read is noted and passed over, and so is a claim or a
template of another namespace than the one that is asked about, unless it holds devices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, TypeVar

from dray.api import scheme
from dray.api.core import Node, Pod
from dray.api.defaults import default
from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.api.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dray.api.wire import Time, replace
from dray.cli.devices import Unreadable
from dray.cli.errors import CommandError
from dray.cli.hints import decoding_hint, hints_for, is_foreign
from dray.cli.manifests import (
    STANDARD_INPUT,
    EmptyList,
    Manifest,
    ManifestError,
    RawObject,
    find_files,
    read_file,
    read_raw,
)
from dray.cli.snapshot.names import ObjectName, listed
from dray.cli.snapshot.origin import Origin
from dray.cli.snapshot.plain import read_plain
from dray.errors import DecodeError, shorten
from dray.validation.intake import receive

__all__ = ["Contents", "read_contents"]

# A dump has the same mistake in every object of a kind.
NOTES_PER_TOPIC_MAX: Final = 5
ERRORS_PER_OBJECT_MAX: Final = 3
PROBLEMS_MAX: Final = 100
TEXT_SHOWN_MAX: Final = 80
KINDS_COUNTED_MAX: Final = 200

_GROUP: Final = "resource.k8s.io"
_GZIP: Final = b"\x1f\x8b"

_TYPES: Final[Mapping[tuple[str, str], type[Object]]] = {
    ("", "Node"): Node,
    ("", "Pod"): Pod,
    (_GROUP, "DeviceClass"): DeviceClass,
    (_GROUP, "DeviceTaintRule"): DeviceTaintRule,
    (_GROUP, "ResourceClaim"): ResourceClaim,
    (_GROUP, "ResourceClaimTemplate"): ResourceClaimTemplate,
    (_GROUP, "ResourceSlice"): ResourceSlice,
}

# Kinds of which a question uses some objects and leaves the others alone.
_ON_DEMAND: Final = frozenset({DeviceClass, ResourceClaim, ResourceClaimTemplate})

O = TypeVar("O", bound=Object)  # noqa: E741  # T is for times here


@dataclass(frozen=True, slots=True)
class Contents:
    """What some files hold."""

    objects: Mapping[type[Object], Mapping[ObjectName, Object]]
    passed_over: Mapping[str, int]  # how many, by kind
    unread_pods: Mapping[ObjectName, str]  # why
    pod_notes: Mapping[ObjectName, tuple[str, ...]]  # of interest once somebody asks for the pod
    notes: tuple[str, ...]
    subjects: Mapping[str, str]  # notes on single objects that only some care for → `Kind name`

    def of(self, kind: type[O]) -> dict[ObjectName, O]:
        """All objects of a kind, in the order they came in."""
        found = self.objects.get(kind, {})
        return {name: obj for name, obj in found.items() if isinstance(obj, kind)}


def read_contents(
    paths: Sequence[str],
    gates: FeatureGates,
    *,
    now: Time,
    namespace: str,
    standard_input: BinaryIO | None,
    origin: Origin = Origin.DUMP,
) -> Contents:
    """All objects in these files; Unreadable, with all there is to say, if one cannot be read."""
    reader = _Reader(gates, now, namespace)
    for found, file in _manifests(paths, standard_input, origin):
        if found is None:
            reader.note_empty(file)
        else:
            reader.take(found, file)
    if reader.problems:
        raise Unreadable(reader.problems[:PROBLEMS_MAX])
    if not reader.documents:
        why = f"; {reader.others[0]}" if reader.others else ""
        raise CommandError(f"no objects in {listed([_file(path, origin) for path in paths])}{why}")
    return reader.contents()


class _Notes:
    """Notes by topic: the first few of each, and how many more there are."""

    def __init__(self) -> None:
        self._kept: dict[str, list[str]] = {}
        self._counts: Counter[str] = Counter()

    def wants(self, topic: str) -> bool:
        """Whether another one is still of interest; counts it if not."""
        self._counts[topic] += 1
        return self._counts[topic] <= NOTES_PER_TOPIC_MAX

    def add(self, topic: str, text: str) -> None:
        self._kept.setdefault(topic, []).append(text)

    def __iter__(self) -> Iterator[str]:
        for topic, kept in self._kept.items():
            yield from kept
            more = self._counts[topic] - NOTES_PER_TOPIC_MAX
            if more > 0:
                yield f"and {more} more like that ({topic})"


class _Reader:
    """Takes objects one after another."""

    def __init__(self, gates: FeatureGates, now: Time, namespace: str) -> None:
        self.documents = 0
        self.problems: list[ManifestError] = []
        self.others: list[str] = []  # what there is in place of objects
        self._gates = gates
        self._now = now
        self._namespace = namespace
        self._notes = _Notes()
        self._objects: dict[type[Object], dict[ObjectName, Object]] = {}
        self._sources: dict[tuple[str, ObjectName], tuple[str, Manifest]] = {}
        self._passed_over: Counter[str] = Counter()
        self._unread_pods: dict[ObjectName, str] = {}
        self._pod_notes: dict[ObjectName, tuple[str, ...]] = {}
        self._unnamed = 0
        self._subjects: dict[str, str] = {}

    def contents(self) -> Contents:
        return Contents(
            objects=self._objects,
            passed_over=dict(sorted(self._passed_over.items())),
            unread_pods=self._unread_pods,
            pod_notes=self._pod_notes,
            notes=tuple(self._notes),
            subjects=self._subjects,
        )

    def note_empty(self, file: str) -> None:
        """Note a file that has nothing in it."""
        if self._notes.wants("files"):
            self._notes.add("files", f"{file} is empty")

    def take(self, found: RawObject | Manifest | EmptyList | ManifestError, file: str) -> None:
        if isinstance(found, RawObject):
            if self._take_raw(found, file):
                return
            found = found.manifest()
        if isinstance(found, ManifestError):
            self._problem(found)
            return
        self.documents += 1
        if isinstance(found, EmptyList):
            return
        type_ = _type_of(found.value)
        if type_ is None:
            self._pass_over(found, file)
            return
        try:
            obj = self._read_plain(found, file) if type_ in (Node, Pod) else self._read(found, file)
        except DecodeError as error:
            self._note_unread(type_, error, found, file)
        else:
            self._keep(obj, found, file)

    def _take_raw(self, found: RawObject, file: str) -> bool:
        """Keep or pass over what is nothing special; False if there is more to it."""
        group, _, version_name = found.api_version.rpartition("/")
        type_ = _TYPES.get((group, found.kind))
        if type_ is None:
            self.documents += 1
            self._pass_over(found.outline(), file)
            return True
        version = scheme.KINDS[group, found.kind].version(version_name)
        obj = read_plain(found.data, version.type) if version is not None else None
        if obj is None or not obj.metadata.name:
            return False
        if type_ not in (Node, Pod) and not obj.metadata.uid and not _has_allocation(obj):
            return False
        self.documents += 1
        obj = obj if _is_settled(obj) else default(obj, now=self._now)
        self._keep(self._at_hub(obj), found.outline(), file)
        return True

    # What an object says ------------------------------------------------------------------------

    def _read(self, manifest: Manifest, file: str) -> Object:
        """An object of resource.k8s.io."""
        value = manifest.value
        if _is_allocated(value):
            return self._read_plain(manifest, file)
        received = receive(value, now=self._now, gates=self._gates, namespace=self._namespace)
        obj: Object = received.object
        self._note_strict(received.decoded, received.unknown, received.duplicate, manifest, file)
        errors = received.errors
        topic = f"invalid {obj.kind}"
        if errors and self._notes.wants(topic):
            for error in errors[:ERRORS_PER_OBJECT_MAX]:
                place = f"{file}:{manifest.line_of(error.field)}"
                self._note_on(obj, topic, f"{place}: {_title(value)}: {error}")
            if len(errors) > ERRORS_PER_OBJECT_MAX:
                more = len(errors) - ERRORS_PER_OBJECT_MAX
                text = f"{_title(value)} breaks {more} more rules: dray validate"
                self._note_on(obj, topic, text)
        return obj if received.decoded.metadata.name else self._renamed(obj)

    def _note_on(self, obj: Object, topic: str, text: str) -> None:
        self._notes.add(topic, text)
        if type(obj) in _ON_DEMAND:
            self._subjects[text] = f"{obj.kind} {_name_of(obj)}"

    def _read_plain(self, manifest: Manifest, file: str) -> Object:
        """An object whose rules do not matter here."""
        _, _, decoded = scheme.decode_any(manifest.value)
        obj = self._at_hub(default(decoded.value, now=self._now))
        if not obj.metadata.name:
            obj = self._renamed(obj)
        if isinstance(obj, Pod) and decoded.unknown:
            # New servers have new fields: of interest only if it is this pod that is asked about.
            texts = _strict_texts(decoded.value, decoded.unknown, (), manifest, file)
            self._pod_notes[_name_of(obj)] = tuple(texts)[:NOTES_PER_TOPIC_MAX]
        return obj

    def _at_hub(self, decoded: Object) -> Object:
        """The object at the hub version, and in its namespace."""
        obj: Object = scheme.to_hub(decoded)
        namespaced = scheme.KINDS[obj.api_version.rpartition("/")[0], obj.kind].namespaced
        namespace = obj.metadata.namespace
        if namespaced == bool(namespace):
            return obj
        namespace = self._namespace if namespaced else ""
        return replace(obj, metadata=replace(obj.metadata, namespace=namespace))

    def _renamed(self, obj: O) -> O:
        """The object with a name of its own, as a server gives to one that leaves it open."""
        self._unnamed += 1
        base = obj.metadata.generate_name or f"{obj.kind.lower()}-"
        return replace(obj, metadata=replace(obj.metadata, name=f"{base}{self._unnamed:05}"))

    # Where an object goes -----------------------------------------------------------------------

    def _keep(self, obj: Object, manifest: Manifest, file: str) -> None:
        name = _name_of(obj)
        kept = self._objects.setdefault(type(obj), {})
        before = kept.get(name)
        if before is not None and before != obj:
            topic = f"{obj.kind} more than once"
            if self._notes.wants(topic):
                first_file, first = self._sources[obj.kind, name]
                self._notes.add(
                    topic,
                    f"{file}:{manifest.line}: {obj.kind} {name} is at {first_file}:{first.line} "
                    "too and differs; the later one counts",
                )
        kept[name] = obj
        self._sources[obj.kind, name] = file, manifest

    def _pass_over(self, manifest: Manifest, file: str) -> None:
        value = manifest.value
        kind = value.get("kind") if isinstance(value, dict) else None
        name = shorten(kind) if isinstance(kind, str) and kind else "object without a kind"
        if name not in self._passed_over and len(self._passed_over) >= KINDS_COUNTED_MAX:
            name = "other"
        self._passed_over[name] += 1
        other = _no_object(value)
        if other:
            self.documents -= 1
            text = f"{file}:{manifest.line}: passed over: {other}"
            if self._notes.wants("files"):
                self._notes.add("files", text)
            self.others.append(text)
            return
        try:
            scheme.find_kind(*_type_texts(value))
        except DecodeError as error:
            # A misspelt slice must not go unnoticed among kinds of other people.
            if not is_foreign(value) and self._notes.wants("kinds"):
                self._notes.add("kinds", f"{file}:{manifest.line}: passed over: {error}")

    # What is wrong ------------------------------------------------------------------------------

    def _problem(self, problem: ManifestError) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(problem)

    def _note_unread(
        self, type_: type[Object], error: DecodeError, manifest: Manifest, file: str
    ) -> None:
        metadata = manifest.value.get("metadata")
        told = metadata if isinstance(metadata, dict) else {}
        namespace = str(told.get("namespace") or self._namespace)
        # What a pod uses is in its own namespace, but devices may be held from everywhere.
        apart = (
            type_ in (ResourceClaim, ResourceClaimTemplate)
            and namespace != self._namespace
            and not _is_allocated(manifest.value)
        )
        if type_ not in (Node, Pod) and not apart:
            for one in (error, *error.others):
                rule = f"{_place(manifest)} ({_title(manifest.value)}): {one}{decoding_hint(one)}"
                self._problem(ManifestError(rule, manifest.line_of(one.path), file=file))
            return
        if type_ is Pod:
            self._unread_pods[ObjectName(namespace, str(told.get("name") or ""))] = str(error)
        topic = f"unreadable {type_.__name__}"
        if self._notes.wants(topic):
            place = f"{file}:{manifest.line_of(error.path)}"
            self._notes.add(topic, f"{place}: {_title(manifest.value)} is passed over: {error}")

    def _note_strict(
        self,
        decoded: Any,
        unknown: Sequence[str],
        duplicate: Sequence[str],
        manifest: Manifest,
        file: str,
    ) -> None:
        topic = f"fields of a {decoded.kind}"
        if not (unknown or duplicate) or not self._notes.wants(topic):
            return
        for text in _strict_texts(decoded, unknown, duplicate, manifest, file):
            self._notes.add(topic, text)


def _strict_texts(
    decoded: Any,
    unknown: Sequence[str],
    duplicate: Sequence[str],
    manifest: Manifest,
    file: str,
) -> Iterator[str]:
    shown = unknown[:ERRORS_PER_OBJECT_MAX]
    hints = hints_for(decoded, shown)
    title = _title(manifest.value)
    for field in shown:
        hint = f"; {hints[field]}" if field in hints else ""
        place = f"{file}:{manifest.line_of(field)}"
        yield f"{place}: {title}: {shorten(field)}: unknown field, passed over{hint}"
    for field in duplicate[:ERRORS_PER_OBJECT_MAX]:
        place = f"{file}:{manifest.line_of(field)}"
        yield f"{place}: {title}: {shorten(field)}: duplicate field, the last one counts"


def _manifests(
    paths: Sequence[str], standard_input: BinaryIO | None, origin: Origin
) -> Iterator[tuple[RawObject | Manifest | EmptyList | ManifestError | None, str]]:
    """What files hold, each with the file; None for a file that holds nothing."""
    for path in find_files(paths):
        if isinstance(path, ManifestError):
            yield path, ""
            continue
        file = _file(path, origin)
        try:
            data = read_file(path, standard_input)
        except ManifestError as error:
            yield error.in_file(file), file
            continue
        if data.startswith(_GZIP):
            yield ManifestError("is compressed by gzip: unpack it first", file=file), file
            continue
        empty = True
        for found in read_raw(data):
            empty = False
            yield (found.in_file(file) if isinstance(found, ManifestError) else found), file
        if empty:
            yield None, file


def _file(path: str, origin: Origin) -> str:
    if path != STANDARD_INPUT:
        return path
    # What a cluster has is read as if it were piped in.
    return "the cluster" if origin is Origin.CLUSTER else "standard input"


def _type_texts(value: Any) -> tuple[str, str]:
    if not isinstance(value, dict):
        return "", ""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return "", ""
    return api_version, kind


def _no_object(value: Any) -> str:
    """What there is in place of an object: what kubectl says, or shows to people; else nothing."""
    if isinstance(value, str):
        begins = shorten(" ".join(value.split()), characters_max=TEXT_SHOWN_MAX)
        return f"this is no object but text: {begins}"
    if isinstance(value, dict) and value.get("kind") == "Status":
        message = value.get("message")
        said = shorten(message, characters_max=TEXT_SHOWN_MAX) if isinstance(message, str) else "?"
        return f"this is no object but an answer of the server: {said}"
    if isinstance(value, dict) and "kind" not in value and "apiVersion" not in value:
        keys = shorten(", ".join(map(str, value)), characters_max=TEXT_SHOWN_MAX)
        return f"this is no object, it has neither apiVersion nor kind: {keys}"
    return ""


def _type_of(value: Any) -> type[Object] | None:
    api_version, kind = _type_texts(value)
    return _TYPES.get((api_version.rpartition("/")[0], kind))


def _is_allocated(value: Any) -> bool:
    status = value.get("status")
    return (
        value["kind"] == "ResourceClaim"
        and isinstance(status, dict)
        and isinstance(status.get("allocation"), dict)
    )


def _is_settled(obj: Object) -> bool:
    """Whether this is a node or the pod of a node that a server has given its defaults."""
    if isinstance(obj, Pod) and not obj.spec.node_name:
        return False
    return isinstance(obj, (Node, Pod)) and bool(obj.metadata.uid)


def _has_allocation(obj: Object) -> bool:
    return getattr(getattr(obj, "status", None), "allocation", None) is not None


def _name_of(obj: Object) -> ObjectName:
    return ObjectName(obj.metadata.namespace, obj.metadata.name)


def _place(manifest: Manifest) -> str:
    item = "" if manifest.item is None else f", item {manifest.item}"
    return f"document {manifest.document.index}{item}"


def _title(value: Any) -> str:
    """`Kind namespace/name`, as far as the object says."""
    metadata = value.get("metadata")
    told = metadata if isinstance(metadata, dict) else {}
    name = told.get("name") or told.get("generateName") or "?"
    namespace = told.get("namespace")
    full = f"{namespace}/{name}" if namespace else str(name)
    return f"{value['kind']} {shorten(full)}"
