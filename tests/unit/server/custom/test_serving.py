from __future__ import annotations

from typing import Any

from dray.server.custom.definition_status import with_names
from dray.server.custom.kind import CustomKind
from dray.server.custom.serving import served_versions
from dray.server.registry import Served
from tests.unit.server.custom.definitions import NOW, definition, typed, version


def served(document: dict[str, Any]) -> list[Served]:
    declared = with_names(typed(document), [], NOW)
    return list(served_versions(declared, CustomKind(declared, since=0)))


def test_served_versions_become_resources_under_the_names_they_were_given() -> None:
    names = {"shortNames": ["wd"], "categories": ["all"], "listKind": "Widgets"}
    body = definition(versions=[version("v1"), version("v2", served=False)], names=names)
    (only,) = served(body)
    resource = only.resource
    assert (resource.group, resource.version, resource.plural) == ("example.com", "v1", "widgets")
    assert (resource.singular, resource.kind, resource.list_kind) == ("widget", "Widget", "Widgets")
    assert resource.short_names == ("wd",)
    assert resource.categories == ("all",)
    assert resource.custom
    assert only.prefix == "example.com/widgets/"


def test_columns_and_selectable_fields_come_along() -> None:
    (only,) = served(
        definition(
            additionalPrinterColumns=[
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
            ],
            selectableFields=[{"jsonPath": ".spec.note"}],
        )
    )
    assert only.printer is not None
    assert [column.name for column in only.printer.columns] == ["Name", "Size"]
    assert only.selectable == (".spec.note",)


def test_subresources_are_offered() -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    (only,) = served(definition(subresources={"status": {}, "scale": scale}))
    assert [sub.name for sub in only.resource.subresources] == ["scale", "status"]


def test_a_deprecated_version_says_what_to_use_instead() -> None:
    body = definition(versions=[version("v1"), version("v1beta1", deprecated=True)])
    new, old = served(body)
    assert new.resource.deprecation is None
    told = "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"
    assert old.resource.deprecation == told


def test_a_version_may_have_its_own_words() -> None:
    (only,) = served(definition(deprecated=True, deprecationWarning="go away"))
    assert only.resource.deprecation == "go away"
    (only,) = served(definition(deprecated=True))
    assert only.resource.deprecation == "example.com/v1 Widget is deprecated"
