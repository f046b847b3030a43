"""The words dray has for types and fields: about things that exist, short, and complete for DRA."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dray.api.schema import ListOf, MapOf, Schema, StructOf
from dray.api.schemas import find_schema, kinds_of, schema_of, versions
from dray.server.openapi.descriptions import describe, describe_field
from dray.server.openapi.words import Words, all_words, words_about

# A sentence or two: what needs more belongs in the documentation.
CHARACTERS_MAX = 300

META = "io.k8s.apimachinery.pkg.apis.meta"

# Kinds of meta that documents refer to although no resource has them.
META_KINDS = ("DeleteOptions", "Status", "APIResourceList")


def structs_of(*kinds: StructOf) -> dict[str, StructOf]:
    """Every named struct in some kinds, by name."""
    found: dict[str, StructOf] = {}

    def visit(schema: Schema) -> None:
        match schema:
            case ListOf(items=inner) | MapOf(values=inner):
                visit(inner)
            case StructOf(name=name) if name not in found:
                found[name] = schema
                for field in (*schema.fields.values(), *schema.declared):
                    visit(field.schema)
            case _:
                pass

    for kind in kinds:
        visit(kind)
    return found


def every_struct() -> dict[str, StructOf]:
    kinds = [schema_of(*at, kind) for at in versions() for kind in kinds_of(*at)]
    meta = (find_schema("", "v1", kind) for kind in META_KINDS)
    return structs_of(*kinds, *(kind for kind in meta if kind is not None))


EVERY_STRUCT = every_struct()


def structs_called(group: str, name: str) -> Iterator[StructOf]:
    """The structs that a name in a file is about: of one version, or of all that have it."""
    version, dot, type_ = name.rpartition(".")
    if dot:
        yield EVERY_STRUCT[f"{group}.{version}.{type_}"]
        return
    for known, struct in EVERY_STRUCT.items():
        package, _, last = known.rpartition(".")
        if last == type_ and package.rpartition(".")[0] == group:
            yield struct


def split(name: str) -> tuple[str, str]:
    """A name in a file as its type, perhaps with a version, and its field, perhaps none."""
    version, dot, rest = name.partition(".")
    if not version.startswith("v1"):
        version, rest = "", name
    type_, _, field = rest.partition(".")
    return (f"{version}.{type_}" if version and dot else type_), field


@pytest.mark.parametrize("words", all_words().values(), ids=lambda words: words.group)
def test_what_is_described_exists(words: Words) -> None:
    unknown = []
    for name in words.texts:
        type_, field = split(name)
        structs = list(structs_called(words.group, type_))
        if type_ in ("*", "*List"):
            structs = [schema_of("", "v1", type_.replace("*", "Pod"))]
        if not any(not field or field in struct.fields for struct in structs):
            unknown.append(name)
    assert not unknown


@pytest.mark.parametrize("words", all_words().values(), ids=lambda words: words.group)
def test_types_that_borrow_words_have_fields_to_describe(words: Words) -> None:
    idle = []
    for name, other in words.borrowed.items():
        group, _, type_ = other.rpartition(".")
        lenders = list(structs_called(group or words.group, type_))
        borrowers = list(structs_called(words.group, name))
        shared = [set(one.fields) & set(two.fields) for one in lenders for two in borrowers]
        if not any(shared):
            idle.append(name)
    assert not idle


def test_descriptions_are_short_sentences() -> None:
    wrong = [
        f"{name}: {text}"
        for words in all_words().values()
        for name, text in words.texts.items()
        if len(text) > CHARACTERS_MAX or not text.endswith(".") or text != " ".join(text.split())
    ]
    assert not wrong


def test_a_field_does_not_begin_like_its_type() -> None:
    """kubectl explain shows one right after the other."""
    twice = []
    for struct in EVERY_STRUCT.values():
        for name, field in struct.fields.items():
            schema = field.schema
            while isinstance(schema, (ListOf, MapOf)):
                schema = schema.items if isinstance(schema, ListOf) else schema.values
            if not isinstance(schema, StructOf):
                continue
            first = describe_field(struct, name).partition(".")[0]
            if first and first == describe(schema.name).partition(".")[0]:
                twice.append(f"{struct.name}.{name}")
    assert not twice


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1", "v1alpha3"])
def test_every_field_of_resource_k8s_io_is_described(version: str) -> None:
    group = "resource.k8s.io"
    kinds = kinds_of(group, version)
    assert kinds
    silent = [
        f"{name}.{field}"
        for name, struct in structs_of(*(schema_of(group, version, kind) for kind in kinds)).items()
        if f".resource.{version}." in name or name.startswith(META)
        for field in struct.fields
        if not describe_field(struct, field)
    ]
    assert not silent


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1", "v1alpha3"])
def test_every_type_of_resource_k8s_io_is_described(version: str) -> None:
    group = "resource.k8s.io"
    kinds = [schema_of(group, version, kind) for kind in kinds_of(group, version)]
    silent = [
        name
        for name in structs_of(*kinds)
        if f".resource.{version}." in name and not name.endswith(("List", ".DeviceConfiguration"))
        if not describe(name)
    ]
    assert not silent


# What users of DRA meet outside its group.
COMPLETE = [
    *("Pod", "PodSpec", "PodStatus", "PodCondition", "PodResourceClaim", "PodResourceClaimStatus"),
    *("PodExtendedResourceClaimStatus", "ContainerExtendedResourceRequest", "PodTemplateSpec"),
    *("Container", "EphemeralContainer", "ContainerStatus", "ContainerState", "ContainerPort"),
    *("ResourceRequirements", "ResourceClaim", "ResourceStatus", "ResourceHealth"),
    *("NodeAllocatableResourceClaimStatus", "Toleration", "Affinity", "NodeSelectorRequirement"),
    *("Node", "NodeSpec", "NodeStatus", "NodeCondition", "NodeSystemInfo", "Taint"),
    *("Namespace", "NamespaceSpec", "NamespaceStatus", "ConfigMap", "Secret", "ServiceAccount"),
    *("Event", "EventSeries", "Lease", "LeaseSpec", "LimitRange", "LimitRangeSpec"),
    *("LimitRangeItem", "ResourceQuota", "ResourceQuotaSpec", "ResourceQuotaStatus"),
    *("PriorityClass", "PodDisruptionBudget", "PodDisruptionBudgetSpec"),
    *("PodDisruptionBudgetStatus", "Job", "JobSpec", "JobStatus", "Deployment", "DeploymentSpec"),
    *("DeploymentStatus", "ReplicaSet", "ReplicaSetSpec", "ReplicaSetStatus", "DaemonSet"),
    *("DaemonSetSpec", "DaemonSetStatus", "Role", "RoleBinding", "ClusterRole", "PolicyRule"),
    *("ClusterRoleBinding", "RoleRef", "Subject", "ControllerRevision", "CustomResourceDefinition"),
    *("CustomResourceDefinitionSpec", "CustomResourceDefinitionVersion", "JSONSchemaProps"),
]


@pytest.mark.parametrize("type_", COMPLETE)
def test_every_field_of_what_users_meet_is_described(type_: str) -> None:
    structs = [struct for name, struct in EVERY_STRUCT.items() if name.endswith(f".{type_}")]
    assert structs
    silent = [
        f"{struct.name}.{field}"
        for struct in structs
        for field in struct.fields
        if not describe_field(struct, field)
    ]
    assert not silent


def test_words_of_a_version_come_before_those_of_all() -> None:
    name = "io.k8s.api.resource.{}.DeviceRequest"
    beta1, stable = (
        words_about(name.format(version), "firstAvailable") for version in ("v1beta1", "v1")
    )
    assert beta1 != stable
    assert words_about(name.format("v1beta2"), "firstAvailable") == stable


def test_a_type_borrows_what_it_has_no_words_for() -> None:
    exact = "io.k8s.api.resource.v1.ExactDeviceRequest"
    alternative = "io.k8s.api.resource.v1.DeviceSubRequest"
    assert words_about(alternative, "count") == words_about(exact, "count") != ""
    assert words_about("io.k8s.api.resource.v1beta1.DeviceRequest", "count") == words_about(
        exact, "count"
    )
    assert words_about("io.k8s.api.resource.v1.DeviceRequest", "count") == ""


def test_words_are_borrowed_from_other_groups() -> None:
    assert words_about("io.k8s.api.core.v1.NodeCondition", "status") == words_about(
        f"{META}.v1.Condition", "status"
    )


def test_there_are_no_words_about_what_others_define() -> None:
    assert words_about("com.example.v1.Widget", "spec") == ""
    assert words_about("Patch") == ""
