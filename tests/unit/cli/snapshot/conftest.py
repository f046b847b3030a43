from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from dray.api.wire import Time
from dray.cli.snapshot import Snapshot

NOW = Time.parse("2026-08-01T12:00:00Z")

Load = Callable[..., Snapshot]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads the texts, each as a file of its own: a.yaml, b.yaml, …"""

    def load_texts(*texts: str, **options: Any) -> Snapshot:
        paths = []
        for letter, text in zip("abcdefgh", texts, strict=False):
            path = tmp_path / f"{letter}.yaml"
            path.write_text(dedent(text))
            paths.append(str(path))
        return Snapshot.load(paths, now=NOW, **options)

    return load_texts
