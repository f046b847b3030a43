"""Parts of pods that are carried as JSON, read when somebody looks at them."""

from __future__ import annotations

import re
from typing import Any, get_args

import msgspec
import pytest
from msgspec import Raw

from dray.api.apps import Deployment
from dray.api.carried import held_by, is_plain, read_part, write_part
from dray.api.codec import decode_plain, decode_strict, encode
from dray.api.core import Container, Pod, PodSpec
from dray.api.core.parts import Probe, SecurityContext, Volume
from dray.api.pruning import drop_unknown
from dray.api.resource import ResourceSlice
from dray.api.schema import ListOf, MapOf, Schema, StructOf
from dray.api.schemas import schema_of
from dray.api.wire import Holds, Struct
from dray.errors import DecodeError

VOLUMES = tuple[Volume, ...]


def pod(container: str = "", spec: str = "") -> bytes:
    return f'{{"spec": {{"containers": [{{"name": "c"{container}}}]{spec}}}}}'.encode()


def test_a_part_is_read_as_what_its_field_holds() -> None:
    (volume,) = (
        read_part(Raw(b'[{"name": "v", "emptyDir": {"sizeLimit": "1024Mi"}}]'), VOLUMES) or ()
    )
    assert volume.empty_dir is not None
    assert str(volume.empty_dir.size_limit) == "1Gi"


@pytest.mark.parametrize("carried", [None, Raw(b"null")], ids=["absent", "null"])
def test_nothing_is_nothing(carried: Raw | None) -> None:
    assert read_part(carried, Probe) is None


def test_a_part_too_odd_for_the_quick_way_is_read_the_exact_way() -> None:
    probe = read_part(Raw(b'{"periodSeconds": null, "new": 1, "exec": {"command": ["a"]}}'), Probe)
    assert probe is not None
    assert probe.exec is not None
    assert encode(probe) == b'{"exec":{"command":["a"]},"new":1}'


def test_what_does_not_fit_is_left_out() -> None:
    assert read_part(Raw(b'{"privileged": "yes", "runAsUser": 7}'), SecurityContext) == (
        SecurityContext(run_as_user=7)
    )
    assert read_part(Raw(b'"text"'), SecurityContext) == SecurityContext()
    assert read_part(Raw(b'"text"'), VOLUMES) == ()


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, None), ((), None), (SecurityContext(), b"{}"), ((Volume(),), b'[{"name":""}]')],
    ids=["absent", "empty-list", "empty-object", "list"],
)
def test_a_part_is_written_as_go_would(value: Any, written: bytes | None) -> None:
    assert write_part(value) == (None if written is None else Raw(written))


def test_long_parts_are_read_as_well() -> None:
    names = [f"v{index}" for index in range(1000)]
    carried = Raw(msgspec.json.encode([{"name": name} for name in names]))
    assert [volume.name for volume in read_part(carried, VOLUMES) or ()] == names


# Whether an object is plain -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "plain"),
    [
        pytest.param(pod(), True, id="nothing-carried"),
        pytest.param(pod(spec=', "volumes": null'), True, id="null"),
        pytest.param(pod(spec=', "volumes": [{"name": "v"}]'), True, id="known"),
        pytest.param(pod(spec=', "volumes": [{"nam": "v"}]'), False, id="unknown"),
        pytest.param(pod(', "livenessProbe": {"foo": 1}'), False, id="unknown-in-a-container"),
        pytest.param(pod(', "livenessProbe": []'), False, id="mistyped"),
    ],
)
def test_an_object_is_plain_if_all_it_carries_is(document: bytes, plain: bool) -> None:
    found = decode_plain(document, Pod)
    assert found is not None
    assert is_plain(found) is plain


def test_templates_are_looked_into() -> None:
    odd = PodSpec(containers=(Container(lifecycle=Raw(b'{"x": 1}')),))
    deployment = Deployment()
    template = msgspec.structs.replace(deployment.spec.template, spec=odd)
    spec = msgspec.structs.replace(deployment.spec, template=template)
    assert is_plain(deployment)
    assert not is_plain(Deployment(spec=spec))


def test_objects_that_carry_nothing_are_plain() -> None:
    assert is_plain(ResourceSlice())


# The exact decoder, and dropping --------------------------------------------------------------


def test_unknown_and_duplicate_fields_of_parts_are_named_in_the_order_of_the_document() -> None:
    decoded = decode_strict(
        pod(', "odd": 1, "livenessProbe": {"foo": 1, "exec": {"x": 1, "x": 2}}', ', "y": 1'), Pod
    )
    assert decoded.unknown == (
        "spec.containers[0].odd",
        "spec.containers[0].livenessProbe.foo",
        "spec.containers[0].livenessProbe.exec.x",
        "spec.y",
    )
    assert decoded.duplicate == ("spec.containers[0].livenessProbe.exec.x",)


def test_a_mistyped_part_is_refused_with_its_path() -> None:
    with pytest.raises(DecodeError, match=re.escape("spec.volumes[0].secret.defaultMode: ")):
        decode_strict(pod(spec=', "volumes": [{"secret": {"defaultMode": "0644"}}]'), Pod)


def test_dropping_unknown_fields_drops_those_of_parts() -> None:
    value = decode_strict(pod(', "livenessProbe": {"foo": 1, "periodSeconds": 5}'), Pod).value
    (container,) = drop_unknown(value).spec.containers or ()
    assert container.liveness_probe == Raw(b'{"periodSeconds":5}')


def test_dropping_leaves_known_parts_alone() -> None:
    value = decode_strict(pod(', "livenessProbe": {"periodSeconds": 5}'), Pod).value
    assert drop_unknown(value) is value


# The types, held against the wire -------------------------------------------------------------


@pytest.mark.parametrize("struct", [PodSpec, Container])
def test_the_types_of_parts_have_the_fields_of_the_wire(struct: type[Struct]) -> None:
    schema = schema_of("", "v1", "Pod").fields["spec"].schema
    assert isinstance(schema, StructOf)
    if struct is Container:
        containers = schema.fields["containers"].schema
        assert isinstance(containers, ListOf)
        assert isinstance(containers.items, StructOf)
        schema = containers.items
    names = {field.name: field.encode_name for field in msgspec.structs.fields(struct)}
    for name, kind in held_by(struct).items():
        compare(kind, schema.fields[names[name]].schema, name)


def compare(annotation: Any, schema: Schema, path: str) -> None:
    if isinstance(schema, StructOf):
        (kind,) = structs(annotation)
        fields = {
            field.encode_name: field
            for field in msgspec.structs.fields(kind)
            if field.name != "unknown_fields"
        }
        assert fields.keys() == schema.fields.keys(), path
        if schema.name.endswith("ObjectMeta"):
            return
        for name, field in fields.items():
            compare(field.type, schema.fields[name].schema, f"{path}.{name}")
            written = f'"{name}"'.encode() in encode(kind())
            assert written is not schema.fields[name].omit_empty, f"{path}.{name}"
    elif isinstance(schema, (ListOf, MapOf)):
        inner = schema.items if isinstance(schema, ListOf) else schema.values
        compare(annotation, inner, f"{path}[]")


def structs(annotation: Any) -> list[type[Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return [annotation]
    return [
        found
        for argument in get_args(annotation)
        if not isinstance(argument, Holds)
        for found in structs(argument)
    ]
