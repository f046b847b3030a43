"""The schema files say what upstream's types are; dray's own types have to agree with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dray.api import authentication, authorization, core, policy, scheme
from dray.api.quantity import Quantity
from dray.api.schema import (
    ABSENT,
    AnyForm,
    Anything,
    Field,
    ListOf,
    ListType,
    MapOf,
    PatchStrategy,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)
from dray.api.schemas import find_schema, kinds_of, schema_of, versions
from dray.api.wire import UNKNOWN_MEMBER, MicroTime, Time
from dray.errors import InternalError


def at(schema: Schema, path: str) -> Field:
    """The field a dotted path leads to, through lists and maps."""
    *before, last = path.split(".")
    for name in before:
        assert isinstance(schema, StructOf)
        schema = schema.fields[name].schema
        while isinstance(schema, (ListOf, MapOf)):
            schema = schema.items if isinstance(schema, ListOf) else schema.values
    assert isinstance(schema, StructOf)
    return schema.fields[last]


POD = schema_of("", "v1", "Pod")
CLAIM = schema_of("resource.k8s.io", "v1", "ResourceClaim")


def test_a_field_says_everything_upstream_does() -> None:
    assert at(POD, "spec.containers.ports") == Field(
        "ports",
        ListOf(
            at(POD, "spec.containers.ports").schema.items,  # type: ignore[union-attr]
            ListType.MAP,
            ("containerPort", "protocol"),
        ),
        6,
        patch_strategies=frozenset({PatchStrategy.MERGE}),
        patch_merge_key="containerPort",
    )
    assert at(POD, "spec.containers.ports.protocol") == Field(
        "protocol", Scalar(Primitive.STRING), 4, default="TCP"
    )
    assert at(POD, "spec.containers.name") == Field(
        "name", Scalar(Primitive.STRING), 1, required=True, omit_empty=False, default=""
    )
    assert at(POD, "spec.priority") == Field("priority", Scalar(Primitive.INT32), 25, pointer=True)


@pytest.mark.parametrize(
    ("path", "list_type", "keys"),
    [
        ("metadata.ownerReferences", ListType.MAP, ("uid",)),
        ("metadata.finalizers", ListType.SET, ()),
        ("spec.containers.env", ListType.MAP, ("name",)),
        ("spec.containers.envFrom", ListType.ATOMIC, ()),
        ("spec.ephemeralContainers.env", ListType.MAP, ("name",)),
        ("spec.ephemeralContainers.ports", ListType.MAP, ("containerPort", "protocol")),
        ("spec.topologySpreadConstraints", ListType.MAP, ("topologyKey", "whenUnsatisfiable")),
        ("spec.tolerations", ListType.ATOMIC, ()),
        ("status.podIPs", ListType.MAP, ("ip",)),
        ("status.hostIPs", ListType.ATOMIC, ()),
        ("status.containerStatuses", ListType.ATOMIC, ()),
        ("status.resourceClaimStatuses", ListType.MAP, ("name",)),
    ],
)
def test_lists_of_a_pod_merge_as_upstream_s(
    path: str, list_type: ListType, keys: tuple[str, ...]
) -> None:
    schema = at(POD, path).schema
    assert isinstance(schema, ListOf)
    assert (schema.list_type, schema.keys) == (list_type, keys)


def test_keys_of_claim_devices_are_four() -> None:
    schema = at(CLAIM, "status.devices").schema
    assert isinstance(schema, ListOf)
    assert sorted(schema.keys) == ["device", "driver", "pool", "shareID"]


def test_what_is_owned_as_a_whole_is_atomic() -> None:
    selector = at(POD, "spec.nodeSelector").schema
    assert isinstance(selector, MapOf)
    assert selector.atomic
    labels = at(POD, "metadata.labels").schema
    assert isinstance(labels, MapOf)
    assert not labels.atomic
    reference = at(schema_of("", "v1", "Event"), "involvedObject").schema
    assert isinstance(reference, StructOf)
    assert reference.atomic


def test_an_explicit_replace_is_kept() -> None:
    selector = at(schema_of("policy", "v1", "PodDisruptionBudget"), "spec.selector")
    assert selector.patch_strategies == {PatchStrategy.REPLACE}


def test_an_embedded_struct_is_spread_in_json_and_one_message_in_protobuf() -> None:
    volumes = at(POD, "spec.volumes").schema
    assert isinstance(volumes, ListOf)
    assert isinstance(volumes.items, StructOf)
    volume = volumes.items
    assert {"name", "configMap", "csi", "hostPath"} <= set(volume.fields)
    assert [(field.name, field.number, field.inline) for field in volume.declared] == [
        ("name", 1, False),
        ("", 2, True),
    ]


def test_a_schema_that_contains_itself_resolves() -> None:
    crd = schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    schema = at(crd, "spec.versions.schema.openAPIV3Schema").schema
    assert isinstance(schema, StructOf)
    assert schema.fields["not"].schema is schema
    assert schema.fields["items"].schema == Anything(AnyForm.SCHEMA_OR_ARRAY)


def test_only_kinds_have_a_kind() -> None:
    assert {"apiVersion", "kind"} <= set(POD.fields)
    spec = POD.fields["spec"].schema
    assert isinstance(spec, StructOf)
    assert "kind" not in spec.fields


def test_delete_options_and_status_exist_in_every_version() -> None:
    options = schema_of("", "v1", "DeleteOptions")
    assert find_schema("resource.k8s.io", "v1", "DeleteOptions") is options
    assert find_schema("stable.example.com", "v1", "DeleteOptions") is options
    assert find_schema("meta.k8s.io", "v1", "Status") is schema_of("", "v1", "Status")


@pytest.mark.parametrize(
    ("group", "version", "kind"),
    [
        ("", "v1", "Potato"),
        ("", "v2", "Pod"),
        ("example.com", "v1", "Pod"),
        ("", "v1", "PodSpec"),
        ("../schemas/core", "v1", "Pod"),
        ("apps", "v1", "Pod"),
    ],
)
def test_there_is_no_schema_of_what_is_no_kind(group: str, version: str, kind: str) -> None:
    assert find_schema(group, version, kind) is None
    with pytest.raises(InternalError, match=kind):
        schema_of(group, version, kind)


def structs() -> Iterator[StructOf]:
    """Every struct of every file, once."""
    seen: set[str] = set()
    waiting: list[Schema] = [
        schema_of(group, version, kind)
        for group, version in versions()
        for kind in kinds_of(group, version)
    ]
    while waiting:
        match waiting.pop():
            case StructOf() as struct if struct.name not in seen:
                seen.add(struct.name)
                yield struct
                waiting += [field.schema for field in struct.declared]
            case ListOf(items=inside) | MapOf(values=inside):
                waiting.append(inside)
            case _:
                pass


def test_numbers_of_a_struct_differ() -> None:
    for struct in structs():
        numbers = [field.number for field in struct.declared if field.number]
        assert len(set(numbers)) == len(numbers), struct.name
        assert all(
            field.number or field.name in ("kind", "apiVersion") for field in struct.declared
        )


def test_keys_of_lists_are_fields_of_their_items() -> None:
    for struct in structs():
        for field in struct.fields.values():
            match field.schema:
                case ListOf(items=StructOf() as items, list_type=ListType.MAP, keys=keys):
                    assert keys, (struct.name, field.name)
                    assert set(keys) <= set(items.fields), (struct.name, field.name)
                case ListOf(list_type=ListType.MAP):
                    pytest.fail(f"{struct.name}.{field.name} is a map of things without fields")
                case _:
                    pass


def test_defaults_are_of_their_field_s_type() -> None:
    kinds = {Primitive.STRING: str, Primitive.BOOLEAN: bool, Primitive.INT32: int}
    for struct in structs():
        for field in struct.fields.values():
            if field.default is ABSENT:
                continue
            if isinstance(field.schema, Scalar):
                assert isinstance(field.default, kinds.get(field.schema.primitive, (int, str)))
            else:
                assert field.default == {}, (struct.name, field.name)


# Against dray's own types ----------------------------------------------------------------------

BODIES: list[tuple[str, str, type[msgspec.Struct]]] = [
    ("", "v1", core.Binding),
    ("policy", "v1", policy.Eviction),
    ("authentication.k8s.io", "v1", authentication.TokenRequest),
    ("authorization.k8s.io", "v1", authorization.SubjectAccessReview),
    *(
        (kind.group, version.name, version.type)
        for kind in scheme.kinds()
        for version in kind.versions
    ),
]


@pytest.mark.parametrize(
    ("group", "version", "type_"), BODIES, ids=lambda value: getattr(value, "__name__", value)
)
def test_dray_s_types_have_no_field_that_upstream_s_lack(
    group: str, version: str, type_: type[msgspec.Struct]
) -> None:
    schema = schema_of(group, version, type_.__name__)
    info = msgspec.inspect.type_info(type_)
    assert list(disagreements(type_.__name__, info, schema, set())) == []


SCALARS: dict[Any, set[Primitive]] = {
    Quantity: {Primitive.QUANTITY},
    Time: {Primitive.TIME},
    MicroTime: {Primitive.MICRO_TIME},
}


def disagreements(place: str, info: Any, schema: Schema, seen: set[Any]) -> Iterator[str]:
    inspect = msgspec.inspect
    match info, schema:
        case ((inspect.RawType() | inspect.AnyType()), _):
            return
        case _, Anything(form=form) if form is not AnyForm.PLAIN:
            return
        case inspect.UnionType(types=types), _:
            for inner in types:
                if not isinstance(inner, inspect.NoneType):
                    yield from disagreements(place, inner, schema, seen)
        case inspect.StructType(cls=cls, fields=fields), StructOf():
            if cls in seen:
                return
            for field in fields:
                if field.encode_name == UNKNOWN_MEMBER:
                    continue
                inside = schema.fields.get(field.encode_name)
                where = f"{place}.{field.encode_name}"
                if inside is None:
                    yield f"{where} is unknown"
                else:
                    yield from disagreements(where, field.type, inside.schema, seen | {cls})
        case ((inspect.VarTupleType() | inspect.ListType()), ListOf(items=items)):
            yield from disagreements(f"{place}[]", info.item_type, items, seen)
        case inspect.DictType(value_type=value), MapOf(values=values):
            yield from disagreements(f"{place}{{}}", value, values, seen)
        case inspect.CustomType(cls=cls), Scalar(primitive=primitive) if cls in SCALARS:
            if primitive not in SCALARS[cls]:
                yield f"{place} is a {cls.__name__}, not a {primitive.value}"
        case inspect.CustomType(), _:
            return  # ways of keeping null and absent apart
        case inspect.StrType(), Scalar(primitive=primitive):
            if primitive not in {Primitive.STRING, Primitive.INT_OR_STRING, Primitive.BYTES}:
                yield f"{place} is a string, not a {primitive.value}"
        case inspect.IntType(ge=least), Scalar(primitive=primitive):
            if primitive not in {Primitive.INT32, Primitive.INT64, Primitive.INT_OR_STRING}:
                yield f"{place} is a number, not a {primitive.value}"
            elif (primitive is not Primitive.INT64) != (least == -(2**31)):
                yield f"{place} allows from {least}, but is an {primitive.value}"
        case inspect.BoolType(), Scalar(primitive=Primitive.BOOLEAN):
            return
        case inspect.FloatType(), Scalar(primitive=Primitive.NUMBER):
            return
        case _:
            yield f"{place} is {info}, not {schema}"
