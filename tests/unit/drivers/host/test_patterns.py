"""Globs remember what their wildcards matched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.drivers.host.patterns import Glob, PatternError, Template


def tree(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        pytest.param("/dev/video*", {"/dev/video0": {"0": "0"}, "/dev/video10": {"0": "10"}}),
        pytest.param("/dev/video?", {"/dev/video0": {"0": "0"}}),
        pytest.param("/dev/video[1-9]0", {"/dev/video10": {"0": "1"}}),
        pytest.param("/dev/video[!1-9]", {"/dev/video0": {"0": "0"}}),
        pytest.param(
            "/dev/nvme{disk}n*",
            {
                "/dev/nvme0n1": {"disk": "0", "0": "1"},
                "/dev/nvme1n2": {"disk": "1", "0": "2"},
            },
        ),
        pytest.param("/sys/class/*/*/name", {"/sys/class/a/b/name": {"0": "a", "1": "b"}}),
        pytest.param("/dev/nvme0n1", {"/dev/nvme0n1": {}}, id="no-wildcard"),
        pytest.param("/nowhere/*", {}, id="no-such-directory"),
        pytest.param("/dev/nvme0n1/*", {}, id="a-file-is-no-directory"),
        pytest.param("/dev/*hidden", {}, id="hidden-files-stay-hidden"),
        pytest.param("/dev/.h*", {"/dev/.hidden": {"0": "idden"}}, id="unless-the-dot-is-said"),
    ],
)
def test_wildcards_are_captured(
    tmp_path: Path, glob: str, found: dict[str, dict[str, str]]
) -> None:
    tree(
        tmp_path,
        *("dev/video0", "dev/video10", "dev/nvme0n1", "dev/nvme1n2", "dev/.hidden"),
        "sys/class/a/b/name",
    )
    matches = Glob(glob).matches(tmp_path)
    assert {match.path: match.captures for match in matches} == found


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("gone")
    assert [match.path for match in Glob("/l*").matches(tmp_path)] == ["/link"]


@pytest.mark.parametrize(
    ("glob", "rule"),
    [
        ("dev/video*", "must be an absolute path"),
        ("/dev/**", "say how deep paths are"),
        ("/dev//video", "must not have empty parts"),
        ("/dev/../video", "must not have empty parts, nor . or .."),
        ("/dev/video[", "[ without its counterpart"),
        ("/dev/{a}{a}", "two wildcards named 'a'"),
        ("/dev/{a b}", "letters, digits and _"),
        ("/dev/video{", "{ without its counterpart"),
        ("/dev/[z-a]", "bad character range"),
    ],
)
def test_a_bad_glob_is_refused_with_the_rule(glob: str, rule: str) -> None:
    with pytest.raises(PatternError) as caught:
        Glob(glob)
    assert rule in str(caught.value)


def test_a_template_is_filled_and_braces_can_be_said() -> None:
    assert Template("cam-{0}-{{{side}}}").fill({"0": "7", "side": "l"}) == "cam-7-{l}"


@pytest.mark.parametrize("text", ["{", "{0.x}", "{0!r}", "{0:>5}", "{}", "}"])
def test_a_template_is_names_and_nothing_else(text: str) -> None:
    with pytest.raises(PatternError):
        Template(text)


def test_a_capture_that_is_missing_is_named() -> None:
    with pytest.raises(PatternError, match="nothing is captured as 'serial'"):
        Template("{serial}").fill({"0": "1"})


@given(st.text(alphabet="ab*?[]{}/.!-", max_size=12))
def test_any_text_is_a_glob_or_is_refused(text: str) -> None:
    try:
        glob = Glob(f"/{text}")
    except PatternError:
        return
    assert len(set(glob.names)) == len(glob.names)
