"""Credentials from programs. The programs are real ones, and short."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dray.client import _exec_plugin
from dray.client._credentials import bearer
from dray.client._exec_plugin import API_VERSIONS, ExecCredentials, ExecPlugin
from dray.errors import TransportError
from dray.testing import FakeClock


def credential(**status: str) -> dict[str, Any]:
    return {"apiVersion": API_VERSIONS[0], "kind": "ExecCredential", "status": status}


class Program:
    """A shell script that prints what a file holds, and counts how often it was run."""

    def __init__(self, directory: Path, script: str = "") -> None:
        self.output, self.runs = directory / "output", directory / "runs"
        self.path = directory / "plugin"
        self.path.write_text(
            f"#!/bin/sh\necho run >> {self.runs}\n{script or f'cat {self.output}'}\n"
        )
        self.path.chmod(0o700)

    def prints(self, document: object) -> None:
        text = document if isinstance(document, str) else json.dumps(document)
        self.output.write_text(text)

    @property
    def runs_count(self) -> int:
        return len(self.runs.read_text().splitlines())


def test_a_token_is_kept_until_it_runs_out(tmp_path: Path) -> None:
    async def main() -> None:
        program, clock = Program(tmp_path), FakeClock()
        program.prints(credential(token="one", expirationTimestamp="2026-01-01T01:00:00Z"))
        credentials = ExecCredentials(ExecPlugin(str(program.path)), clock)
        both = await asyncio.gather(credentials.identity(), credentials.identity())
        assert set(both) == {bearer("one")}
        assert program.runs_count == 1
        program.prints(credential(token="two"))
        clock.advance(3599)
        assert await credentials.identity() == bearer("one")
        clock.advance(1)
        assert await credentials.identity() == bearer("two")
        clock.advance(10**6)
        assert await credentials.identity() == bearer("two")
        assert program.runs_count == 2

    asyncio.run(main())


def test_a_refused_token_is_asked_for_again(tmp_path: Path) -> None:
    async def main() -> None:
        program = Program(tmp_path)
        program.prints(credential(token="one"))
        credentials = ExecCredentials(ExecPlugin(str(program.path)), FakeClock())
        identity = await credentials.identity()
        assert not await credentials.refused(identity)
        program.prints(credential(token="two"))
        assert await credentials.refused(identity)
        assert await credentials.identity() == bearer("two")

    asyncio.run(main())


def test_certificates_come_with_their_keys(tmp_path: Path) -> None:
    async def main() -> None:
        program = Program(tmp_path)
        program.prints(credential(clientCertificateData="C", clientKeyData="K"))
        identity = await ExecCredentials(ExecPlugin(str(program.path)), FakeClock()).identity()
        assert (identity.certificate, identity.headers) == ((b"C", b"K"), ())

    asyncio.run(main())


def test_a_program_is_told_what_is_wanted(tmp_path: Path) -> None:
    async def main() -> None:
        heard = tmp_path / "heard"
        program = Program(
            tmp_path,
            f'printf "%s\\n%s %s\\n%s" "$KUBERNETES_EXEC_INFO" "$1" "$2" "$EXTRA" > {heard}\n'
            f"cat {tmp_path / 'output'}",
        )
        document = credential(token="t")
        document["apiVersion"] = API_VERSIONS[1]
        program.prints(document)
        plugin = ExecPlugin(
            str(program.path),
            ("a", "b"),
            {"EXTRA": "yes"},
            API_VERSIONS[1],
            cluster={"server": "https://x"},
        )
        await ExecCredentials(plugin, FakeClock()).identity()
        info, arguments, extra = heard.read_text().splitlines()
        assert json.loads(info) == {
            "kind": "ExecCredential",
            "apiVersion": API_VERSIONS[1],
            "spec": {"interactive": False, "cluster": {"server": "https://x"}},
        }
        assert (arguments, extra) == ("a b", "yes")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ("", "not JSON"),
        ("[]", "printed no ExecCredential"),
        ({"kind": "ExecCredential", "apiVersion": "v0"}, 'in version "v0", not in client.auth'),
        ({"kind": "ExecCredential", "apiVersion": API_VERSIONS[0]}, "without a status"),
        (credential(), "neither a token nor a certificate"),
        (credential(token="a", clientKeyData="k"), "or neither"),
        (credential(token="a", expirationTimestamp="soon"), "RFC 3339"),
    ],
    ids=["empty", "list", "version", "no-status", "nothing", "half", "time"],
)
def test_what_is_no_credential_is_named(tmp_path: Path, output: object, complaint: str) -> None:
    async def main() -> None:
        program = Program(tmp_path)
        program.prints(output)
        with pytest.raises(TransportError, match=complaint) as caught:
            await ExecCredentials(ExecPlugin(str(program.path)), FakeClock()).identity()
        assert str(caught.value).startswith(f"credential plugin {program.path} ")

    asyncio.run(main())


def test_a_program_that_fails_or_is_missing_says_how_to_get_it(tmp_path: Path) -> None:
    async def main() -> None:
        program = Program(tmp_path, "echo you are not logged in >&2; exit 3")
        plugin = ExecPlugin(str(program.path), install_hint="run: login")
        with pytest.raises(TransportError, match="exit code 3: you are not logged in\nrun: login"):
            await ExecCredentials(plugin, FakeClock()).identity()
        missing = ExecPlugin("/nonexistent/plugin", install_hint="install it")
        with pytest.raises(TransportError, match=r"cannot be run: .*\ninstall it"):
            await ExecCredentials(missing, FakeClock()).identity()

    asyncio.run(main())


def test_a_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    async def main() -> None:
        clock = FakeClock()
        program = Program(tmp_path, "sleep 1000 & sleep 1000")
        credentials = ExecCredentials(ExecPlugin(str(program.path)), clock)
        task = asyncio.ensure_future(credentials.identity())
        while not clock._sleepers:
            await asyncio.sleep(0)
        clock.advance(61)
        with pytest.raises(TransportError, match="did not end within 60 s"):
            await task

    asyncio.run(main())


@pytest.mark.parametrize("starter", ["", "setsid "], ids=["child", "child-of-its-own-session"])
def test_a_child_that_holds_the_pipes_is_not_waited_for(tmp_path: Path, starter: str) -> None:
    async def main() -> None:
        clock = FakeClock()
        program = Program(tmp_path, f"{starter}sleep 5 & cat {tmp_path / 'output'}")
        program.prints(credential(token="t"))
        credentials = ExecCredentials(ExecPlugin(str(program.path)), clock)
        task = asyncio.ensure_future(credentials.identity())
        while clock.next_wake != _exec_plugin.LINGER_SECONDS:
            await asyncio.sleep(0)
        clock.advance(_exec_plugin.LINGER_SECONDS)
        assert await task == bearer("t")

    asyncio.run(main())


def test_a_program_that_prints_without_end_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exec_plugin, "OUTPUT_BYTES_MAX", 1000)

    async def main() -> None:
        program = Program(tmp_path, "head -c 300000 /dev/zero")
        with pytest.raises(TransportError, match="printed more than 1000 bytes"):
            await ExecCredentials(ExecPlugin(str(program.path)), FakeClock()).identity()

    asyncio.run(main())
