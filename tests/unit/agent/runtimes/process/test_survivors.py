"""What still runs, by what supervisors wrote down."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dray.agent.runtimes.process.shim.identity import ProcessIdentity, identify
from dray.agent.runtimes.process.survivors import count_survivors


def container(root: Path, name: str, supervisor: ProcessIdentity) -> Path:
    directory = root / "containers" / name
    directory.mkdir(parents=True)
    (directory / "supervisor.json").write_text(json.dumps({"supervisor": supervisor.as_json()}))
    return directory


def test_containers_count_while_their_supervisor_lives(tmp_path: Path) -> None:
    assert count_survivors(tmp_path) == 0
    me = identify(os.getpid())
    assert me is not None
    earlier = ProcessIdentity(me.pid, me.start_ticks - 1, me.boot_id)
    container(tmp_path, "runs", me)
    container(tmp_path, "runs-too", me)
    container(tmp_path, "of-another-process", earlier)
    (container(tmp_path, "ended", me) / "exit.json").write_text("{}")
    (container(tmp_path, "damaged", me) / "supervisor.json").write_text("{")
    (container(tmp_path, "nobody", me) / "supervisor.json").write_text("{}")
    (tmp_path / "containers" / "never-began").mkdir()
    assert count_survivors(tmp_path) == 2
