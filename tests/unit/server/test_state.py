from __future__ import annotations

from dray.api.core import ConfigMap, Secret
from dray.api.meta import ObjectMeta
from dray.server.state import FixedState


def config_map(name: str, namespace: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def test_objects_are_found_by_kind_name_and_namespace() -> None:
    state = FixedState(config_map("a", "one"), config_map("a", "two", x="y"))
    found = state.get(ConfigMap, "a", "two")
    assert found is not None
    assert found.data == {"x": "y"}
    assert state.get(Secret, "a", "two") is None
    assert state.get(ConfigMap, "a") is None


def test_a_list_is_in_order_of_key() -> None:
    state = FixedState(config_map("b", "one"), config_map("a", "two"), config_map("a", "one"))
    places = [(each.metadata.namespace, each.metadata.name) for each in state.list(ConfigMap)]
    assert places == [("one", "a"), ("one", "b"), ("two", "a")]
    assert [each.metadata.name for each in state.list(ConfigMap, "two")] == ["a"]
    assert state.list(Secret) == []


def test_every_change_gives_a_new_number() -> None:
    state = FixedState(config_map("a", "one"))
    first = state.revision(ConfigMap)
    state.put(config_map("a", "one", x="y"))
    second = state.revision(ConfigMap)
    state.remove(config_map("a", "one"))
    assert len({first, second, state.revision(ConfigMap)}) == 3
    assert state.get(ConfigMap, "a", "one") is None
