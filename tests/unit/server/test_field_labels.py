"""Field selectors, kind by kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api import batch, codec, core, events, resource
from dray.api.meta import Object, ObjectMeta
from dray.api.schema import StructOf
from dray.api.wire import UnknownFields
from dray.errors import BadRequest
from dray.server.field_labels import EVERY_OBJECT, REQUIREMENTS_MAX, field_matcher
from dray.server.resources import Resource


def served(kind: str, *, group: str = "", version: str = "v1", namespaced: bool = True) -> Resource:
    name = kind.lower()
    return Resource(
        group, version, f"{name}s", name, kind, namespaced, StructOf(name="", load=dict)
    )


PODS = served("Pod")
CONFIG_MAPS = served("ConfigMap")
NODES = served("Node", namespaced=False)
EVENTS = served("Event")
NEW_EVENTS = served("Event", group="events.k8s.io")
JOBS = served("Job", group="batch")
SLICES = served("ResourceSlice", group="resource.k8s.io", namespaced=False)
WIDGETS = served("Widget", group="example.com")

META = ObjectMeta(name="web", namespace="shop")
POD = core.Pod(
    metadata=META,
    spec=core.PodSpec(node_name="node-1", host_network=True, scheduler_name="default-scheduler"),
    status=core.PodStatus(phase="Running", pod_ip="10.0.0.1", pod_ips=(core.PodIP(ip="10.0.0.1"),)),
)
OLD_POD = core.Pod(metadata=META, status=core.PodStatus(pod_ip="10.0.0.2"))
NODE = core.Node(metadata=ObjectMeta(name="node-1"))
CORDONED = core.Node(spec=core.NodeSpec(unschedulable=True))
REFERENCE = core.ObjectReference(
    kind="Pod", namespace="shop", name="web", uid="u1", api_version="v1", field_path="spec"
)
CORE_EVENT = core.Event(
    metadata=META,
    involved_object=REFERENCE,
    reason="Started",
    type="Normal",
    source=core.EventSource(component="kubelet"),
)
NEW_EVENT = events.Event(
    metadata=META,
    regarding=REFERENCE,
    reason="Scheduled",
    type="Normal",
    reporting_controller="default-scheduler",
)
JOB = batch.Job(metadata=META, status=batch.JobStatus(succeeded=2))
SLICE = resource.ResourceSlice(
    spec=resource.ResourceSliceSpec(
        driver="gpu.example.com", pool=resource.ResourcePool(name="pool-1"), node_name="node-1"
    )
)
SHARED_SLICE = resource.ResourceSlice(spec=resource.ResourceSliceSpec(driver="net.example.com"))
NAMESPACE = core.Namespace(status=core.NamespaceStatus(phase="Active"))
SECRET = core.Secret(metadata=META, type="Opaque")


@pytest.mark.parametrize(
    ("kind", "text", "obj", "expected"),
    [
        pytest.param(CONFIG_MAPS, "", core.ConfigMap(metadata=META), True, id="nothing-asked"),
        pytest.param(CONFIG_MAPS, "metadata.name=web", core.ConfigMap(metadata=META), True, id="n"),
        pytest.param(
            CONFIG_MAPS, "metadata.name!=web", core.ConfigMap(metadata=META), False, id="n-not"
        ),
        pytest.param(
            CONFIG_MAPS, "metadata.name==other", core.ConfigMap(metadata=META), False, id="n2"
        ),
        pytest.param(
            CONFIG_MAPS, "metadata.namespace=shop", core.ConfigMap(metadata=META), True, id="ns"
        ),
        pytest.param(PODS, "spec.nodeName=node-1", POD, True, id="pod-node"),
        pytest.param(PODS, "spec.host=node-1", POD, True, id="pod-node-by-its-old-name"),
        pytest.param(PODS, "spec.nodeName=", OLD_POD, True, id="pod-unscheduled"),
        pytest.param(PODS, "spec.nodeName!=", POD, True, id="pod-scheduled"),
        pytest.param(PODS, "spec.hostNetwork=true", POD, True, id="pod-host-network"),
        pytest.param(PODS, "spec.hostNetwork=false", OLD_POD, True, id="pod-own-network"),
        pytest.param(PODS, "spec.schedulerName=default-scheduler", POD, True, id="pod-scheduler"),
        pytest.param(PODS, "spec.restartPolicy=Always", POD, False, id="pod-restart"),
        pytest.param(PODS, "spec.serviceAccountName=", POD, True, id="pod-account"),
        pytest.param(
            PODS, "status.phase!=Succeeded,status.phase!=Failed", POD, True, id="scheduler"
        ),
        pytest.param(
            PODS, "status.phase!=Running,metadata.name=web", POD, False, id="all-must-hold"
        ),
        pytest.param(PODS, "status.podIP=10.0.0.1", POD, True, id="pod-address"),
        pytest.param(PODS, "status.podIP=10.0.0.2", OLD_POD, True, id="pod-address-old-form"),
        pytest.param(
            PODS, "status.podIPs=10.0.0.1", POD, False, id="pod-addresses-are-never-filled"
        ),
        pytest.param(PODS, "status.nominatedNodeName=", POD, True, id="pod-nominated"),
        pytest.param(NODES, "spec.unschedulable=false", NODE, True, id="node-open"),
        pytest.param(NODES, "spec.unschedulable=true", CORDONED, True, id="node-cordoned"),
        pytest.param(served("Namespace"), "status.phase=Active", NAMESPACE, True, id="namespace"),
        pytest.param(served("Secret"), "type=Opaque", SECRET, True, id="secret"),
        pytest.param(
            EVENTS, "involvedObject.name=web,involvedObject.kind=Pod", CORE_EVENT, True, id="ev"
        ),
        pytest.param(EVENTS, "involvedObject.uid=u2", CORE_EVENT, False, id="event-other-uid"),
        pytest.param(
            EVENTS,
            "involvedObject.fieldPath=spec,involvedObject.apiVersion=v1",
            CORE_EVENT,
            True,
            id="event-path",
        ),
        pytest.param(
            EVENTS, "source=kubelet,reason=Started,type=Normal", CORE_EVENT, True, id="event-source"
        ),
        pytest.param(
            EVENTS, "source=default-scheduler", NEW_EVENT, True, id="event-reporter-is-source"
        ),
        pytest.param(
            EVENTS, "reportingComponent=default-scheduler", NEW_EVENT, True, id="core-view-of-new"
        ),
        pytest.param(NEW_EVENTS, "regarding.name=web", CORE_EVENT, True, id="new-view-of-core"),
        pytest.param(
            NEW_EVENTS, "reportingController=default-scheduler", NEW_EVENT, True, id="new-event"
        ),
        pytest.param(JOBS, "status.successful=2", JOB, True, id="job"),
        pytest.param(JOBS, "status.successful=0", batch.Job(), True, id="job-new"),
        pytest.param(
            SLICES, "spec.nodeName=node-1,spec.driver=gpu.example.com", SLICE, True, id="slice"
        ),
        pytest.param(SLICES, "spec.nodeName=", SHARED_SLICE, True, id="slice-without-node"),
        pytest.param(SLICES, "spec.pool.name=pool-1", SLICE, True, id="slice-pool"),
    ],
)
def test_an_object_is_meant_by_its_fields(
    kind: Resource, text: str, obj: Object, expected: bool
) -> None:
    matcher = field_matcher(kind, text)
    assert matcher.matches(obj) is expected
    assert matcher.matches_json(json.loads(codec.encode(obj))) is expected


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        pytest.param(
            CONFIG_MAPS,
            "data.x=1",
            '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
            id="a-plain-kind-names-the-two",
        ),
        pytest.param(PODS, "spec.x=1", "field label not supported: spec.x", id="pod"),
        pytest.param(
            NODES,
            "metadata.namespace=x",
            "field label not supported: metadata.namespace",
            id="node",
        ),
        pytest.param(
            NEW_EVENTS,
            "involvedObject.name=web",
            "field label not supported: involvedObject.name",
            id="the-other-groups-names",
        ),
        pytest.param(JOBS, "spec.x=1", 'field label "spec.x" not supported for Job', id="job"),
        pytest.param(
            SLICES,
            "metadata.namespace=x",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: "
            "metadata.namespace",
            id="slice",
        ),
        pytest.param(
            PODS, "a,b=c", "invalid selector: 'a,b=c'; can't understand 'a'", id="no-operator"
        ),
        pytest.param(
            PODS,
            "status.phase=a=b",
            "invalid field selector: unescaped character in value: 61",
            id="=",
        ),
        pytest.param(
            PODS,
            r"status.phase=a\b",
            r"invalid field selector: invalid escape sequence: \b",
            id="b",
        ),
        pytest.param(
            PODS,
            "status.phase=a\\",
            "invalid field selector: invalid escape sequence: \\",
            id="end",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused(kind: Resource, text: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        field_matcher(kind, text)
    assert caught.value.message == message


def test_too_many_requirements_are_refused() -> None:
    with pytest.raises(BadRequest, match="more than"):
        field_matcher(PODS, ",".join(["metadata.name=x"] * (REQUIREMENTS_MAX + 1)))


def test_the_text_is_the_same_however_it_was_asked_for() -> None:
    asked = field_matcher(PODS, r"status.phase!=Failed,,spec.host==a\,b\\\=")
    assert asked.canonical == r"spec.nodeName=a\,b\\\=,status.phase!=Failed"
    assert field_matcher(PODS, asked.canonical).canonical == asked.canonical
    assert asked.exact("spec.nodeName") == "a,b\\="


def test_a_name_that_is_required_spares_the_search() -> None:
    twice = field_matcher(PODS, "metadata.name=web,metadata.name=web")
    assert twice.exact_name == "web"
    assert field_matcher(PODS, "metadata.name!=web").exact_name is None
    assert twice.exact("spec.nodeName") is None


def test_nothing_asked_is_everything() -> None:
    assert field_matcher(PODS, "") is EVERY_OBJECT
    assert EVERY_OBJECT.everything
    assert EVERY_OBJECT.exact_name is None
    assert not field_matcher(PODS, "metadata.name=web").everything
    assert field_matcher(PODS, ",").everything


WIDGET: dict[str, Any] = {
    "metadata": {"name": "w", "namespace": "shop"},
    "spec": {"color": "red", "size": 3, "shiny": True, "parts": []},
}
SELECTABLE = (".spec.color", ".spec.size", ".spec.shiny", ".spec.parts", ".spec.absent")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec.color=red", True),
        ("spec.color!=red", False),
        ("spec.size=3,spec.shiny=true", True),
        ("spec.absent=", True),
        ("spec.parts=", True),
        ("metadata.namespace=shop,metadata.name=w", True),
    ],
)
def test_a_definition_says_what_its_objects_are_asked_by(text: str, expected: bool) -> None:
    matcher = field_matcher(WIDGETS, text, selectable=SELECTABLE)
    typed = Object(
        metadata=ObjectMeta(name="w", namespace="shop"),
        unknown_fields=UnknownFields({"spec": WIDGET["spec"]}),
    )
    assert matcher.matches_json(WIDGET) is expected
    assert matcher.matches(typed) is expected


def test_custom_resources_are_asked_for_nothing_else() -> None:
    with pytest.raises(BadRequest, match=r"^field label not supported: spec\.weight$"):
        field_matcher(WIDGETS, "spec.weight=1", selectable=SELECTABLE)
    cluster = served("Gadget", group="example.com", namespaced=False)
    with pytest.raises(BadRequest, match=r"^field label not supported: metadata\.namespace$"):
        field_matcher(cluster, "metadata.namespace=x", selectable=())
