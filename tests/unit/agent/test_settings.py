"""How a node agent is set up."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.agent.settings import AgentSettings
from dray.errors import ConfigurationError


def test_files_are_where_a_kubelet_has_them() -> None:
    settings = AgentSettings(node_name="n1", root=Path("/var/lib/kubelet"))
    settings.check()
    assert settings.registry_directory == Path("/var/lib/kubelet/plugins_registry")
    assert settings.checkpoint_file == Path("/var/lib/kubelet/dra_manager_state")


def test_a_name_that_no_node_can_have_is_refused() -> None:
    with pytest.raises(ConfigurationError, match='node name "N 1"'):
        AgentSettings(node_name="N 1", root=Path("/r")).check()


def test_a_root_that_leaves_no_room_for_sockets_is_refused() -> None:
    root = Path("/" + "a" * 90)
    with pytest.raises(ConfigurationError, match="107 at most"):
        AgentSettings(node_name="n1", root=root).check()
    AgentSettings(node_name="n1", root=root, simulated=True).check()
