from __future__ import annotations

from dray.api.codec import decode_builtins, to_builtins
from dray.api.core import ConfigMap, Pod
from dray.api.pruning import drop_unknown


def test_unknown_fields_are_dropped_wherever_they_are() -> None:
    document = {
        "metadata": {"name": "p", "odd": 1, "ownerReferences": [{"uid": "u", "odd": 2}]},
        "spec": {
            "containers": [{"name": "a", "odd": 3, "env": [{"name": "X", "odd": 4}]}],
            "odd": {"deep": [5]},
        },
        "odd": 6,
    }
    pod = drop_unknown(decode_builtins(document, Pod).value)
    assert "odd" not in str(to_builtins(pod))
    containers = pod.spec.containers or ()
    assert containers[0].env[0].name == "X"
    assert pod.metadata.owner_references[0].uid == "u"


def test_what_has_none_is_left_as_it_is() -> None:
    config_map = decode_builtins({"metadata": {"name": "a"}, "data": {"x": "1"}}, ConfigMap).value
    assert drop_unknown(config_map) == config_map
    assert drop_unknown(config_map).metadata is config_map.metadata
