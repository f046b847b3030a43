from __future__ import annotations

from dataclasses import replace

from dray.server.models.events import EventsModel
from dray.server.registry import Registry, Served, key_of, prefix_of


def test_built_in_resources_are_those_upstream_serves_by_default() -> None:
    registry = Registry()
    assert registry.find("", "v1", "pods") is not None
    assert registry.find("resource.k8s.io", "v1", "resourceclaims") is not None
    assert registry.find("resource.k8s.io", "v1beta1", "resourceclaims") is None
    assert registry.find("", "v2", "pods") is None


def test_versions_can_be_chosen() -> None:
    registry = Registry(versions=lambda group, _version: group == "resource.k8s.io")
    assert registry.find("resource.k8s.io", "v1beta1", "resourceclaims") is not None
    assert registry.find("", "v1", "pods") is None


def test_groups_are_known_by_what_they_serve() -> None:
    registry = Registry()
    assert registry.has_group("apps")
    assert not registry.has_group("example.com")


def test_versions_of_a_kind_share_their_objects() -> None:
    registry = Registry(versions=lambda _group, _version: True)
    prefixes = {
        served.prefix
        for served in registry.served()
        if (served.resource.group, served.resource.plural) == ("resource.k8s.io", "resourceclaims")
    }
    assert prefixes == {"resource.k8s.io/resourceclaims/"}


def test_the_two_faces_of_events_share_their_objects() -> None:
    registry = Registry()
    older = registry.find("", "v1", "events")
    newer = registry.find("events.k8s.io", "v1", "events")
    assert older is not None
    assert newer is not None
    assert older.prefix == newer.prefix == "core/events/"
    assert isinstance(newer.model, EventsModel)


def test_reviews_are_served_but_kept_nowhere() -> None:
    review = Registry().find("authentication.k8s.io", "v1", "tokenreviews")
    assert review is not None
    assert review.model is None
    assert review.resource.verbs == ("create",)


def test_namespaces_cannot_be_deleted_all_at_once() -> None:
    namespaces = Registry().find("", "v1", "namespaces")
    assert namespaces is not None
    assert "deletecollection" not in namespaces.resource.verbs
    assert "delete" in namespaces.resource.verbs


def test_a_definition_serves_its_resources_until_it_is_gone() -> None:
    registry = Registry()
    pods = registry.find("", "v1", "pods")
    assert pods is not None
    before = registry.generation
    resource = replace(pods.resource, group="example.com", plural="widgets")
    defined = [Served(resource, pods.model, "example.com/widgets/")]
    registry.define("widgets.example.com", defined)
    assert registry.find("example.com", "v1", "widgets") is not None
    assert registry.has_group("example.com")
    during = registry.generation
    registry.withdraw("widgets.example.com")
    assert registry.find("example.com", "v1", "widgets") is None
    assert not registry.has_group("example.com")
    assert len({before, during, registry.generation}) == 3


def test_a_definition_cannot_take_over_what_is_built_in() -> None:
    registry = Registry()
    pods = registry.find("", "v1", "pods")
    assert pods is not None
    registry.define("pods.core", [Served(pods.resource, pods.model, "elsewhere/")])
    assert registry.find("", "v1", "pods") is pods


def test_keys_are_paths() -> None:
    assert prefix_of("", "pods") == "core/pods/"
    assert prefix_of("apps", "deployments") == "apps/deployments/"
    assert key_of("core/pods/", "default", "a") == "core/pods/default/a"
    assert key_of("core/nodes/", "", "n") == "core/nodes/n"
