"""What is kept of options for nodes, and what counts more."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.cli.embedded.kept_options import NodeOptions, find_options, keep_options
from dray.errors import ConfigurationError

OPTIONS = NodeOptions(5, "cri", "unix:///run/cri.sock")


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        (NodeOptions(), ""),
        (NodeOptions(nodes=1), "--nodes 1"),
        (NodeOptions(runtime="memory"), "--runtime memory"),
        (OPTIONS, "--nodes 5 --runtime cri --cri-endpoint unix:///run/cri.sock"),
    ],
)
def test_options_are_kept_and_shown_as_they_are_typed(
    tmp_path: Path, options: NodeOptions, typed: str
) -> None:
    keep_options(tmp_path, OPTIONS)
    keep_options(tmp_path, options)
    assert find_options(tmp_path) == options
    assert str(options) == typed
    assert bool(list(tmp_path.iterdir())) is bool(typed)


def test_what_is_said_comes_before_what_others_say() -> None:
    said = NodeOptions(nodes=1)
    assert OPTIONS.besides(said) == NodeOptions(None, "cri", "unix:///run/cri.sock")
    assert said.or_else(OPTIONS) == NodeOptions(1, "cri", "unix:///run/cri.sock")
    assert OPTIONS.or_else(said) == OPTIONS


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"nodes": "5"}',
        '{"nodes": 0}',
        '{"nodes": 10001}',
        '{"runtime": "abacus"}',
        '{"colour": "red"}',
        "\xff",
    ],
)
def test_a_file_that_makes_no_sense_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "up.nodes.json").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigurationError, match=r"up\.nodes\.json: .*; say --nodes anew"):
        find_options(tmp_path)


def test_a_file_that_cannot_be_had_is_said(tmp_path: Path) -> None:
    (tmp_path / "up.nodes.json").mkdir()
    with pytest.raises(ConfigurationError, match=r"up\.nodes\.json cannot be read: Is a directory"):
        find_options(tmp_path)
    with pytest.raises(ConfigurationError, match=r"up\.nodes\.json cannot be written"):
        keep_options(tmp_path, OPTIONS)
