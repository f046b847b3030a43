from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dray.entropy import SeededEntropy
from dray.errors import ConfigurationError
from dray.server.auth.token_file import TokenFile, create_token_file
from dray.server.user import User
from dray.testing import FakeClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "tokens.csv"
    file.touch(mode=0o600)
    return file


def test_a_line_is_a_user(path: Path) -> None:
    path.write_text('t1,bob,u1,"dev,ops"\n\nt2,eve,u2\nt3,joe,u3,one\n')
    tokens = TokenFile(path, FakeClock())
    assert tokens.user("t1") == User("bob", uid="u1", groups=("dev", "ops", "system:authenticated"))
    assert tokens.user("t2") == User("eve", uid="u2", groups=("system:authenticated",))
    assert tokens.user("t3") == User("joe", uid="u3", groups=("one", "system:authenticated"))
    assert tokens.user("t") is None
    assert tokens.user("") is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("t1,bob\n", "at least 3 columns .* found 2 in line 1"),
        ('t1,"bob\n', "is not CSV"),
        (b"\xff,bob,u\n".decode("latin1"), "is not CSV"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(path: Path, text: str, rule: str) -> None:
    path.write_bytes(text.encode("latin1"))
    with pytest.raises(ConfigurationError, match=rule):
        TokenFile(path, FakeClock())


def test_a_file_that_others_can_read_is_refused(path: Path) -> None:
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match="owner alone"):
        TokenFile(path, FakeClock())


def test_empty_and_repeated_tokens_are_told_of(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(",bob,u1\nt,eve,u2\nt,joe,u3\n")
    with caplog.at_level(logging.WARNING):
        tokens = TokenFile(path, FakeClock())
    assert [record.getMessage().split(": ")[1] for record in caplog.records] == [
        "line 1 has an empty token",
        "line 3 repeats a token",
    ]
    assert tokens.user("") is None
    assert getattr(tokens.user("t"), "name", "") == "joe"


def test_a_changed_file_is_read_again(path: Path) -> None:
    path.write_text("t1,bob,u1\n")
    clock = FakeClock()
    tokens = TokenFile(path, clock)
    path.write_text("t2,eve,u2,with-more\n")
    assert tokens.user("t1")
    clock.advance(1)
    assert tokens.user("t1") is None
    assert tokens.user("t2")


def test_while_a_file_makes_no_sense_its_tokens_stay_good(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text("t1,bob,u1\n")
    clock = FakeClock()
    tokens = TokenFile(path, clock)
    for spoil in (lambda: path.write_text("t2"), path.unlink):
        spoil()
        clock.advance(1)
        with caplog.at_level(logging.WARNING):
            assert tokens.user("t1")
    assert len(caplog.records) == 2


def test_a_first_token_is_made_where_there_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    groups = ("system:masters", "dev")
    token = create_token_file(path, SeededEntropy(1), user="admin", groups=groups)
    assert token is not None
    assert len(token) == 64
    user = TokenFile(path, FakeClock()).user(token)
    assert user is not None
    assert (user.name, user.groups) == ("admin", (*groups, "system:authenticated"))
    assert create_token_file(path, SeededEntropy(1), user="admin", groups=groups) is None
