"""Clients made of configurations."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.api.core import Namespace
from dray.client import Config, Trust, connect, load_kubeconfig
from dray.client._credentials import ANONYMOUS, bearer
from dray.client._exec_plugin import ExecCredentials, ExecPlugin
from dray.clock import SystemClock
from dray.errors import ConfigurationError, Forbidden
from dray.testing import FakeClock

from .servers import kubeconfig_of, real_server


def test_the_kubeconfig_of_a_server_leads_to_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with real_server() as server:
            config = load_kubeconfig(kubeconfig_of(server, tmp_path / "config"))
            client = connect(config, clock=SystemClock())
            assert (await client.get(Namespace, "default")).metadata.name == "default"
            await client.close()

    asyncio.run(main())


def test_impersonation_goes_with_every_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with real_server() as server:
            config = Config(
                server=server.url,
                trust=Trust(authority=server.authority.certificate),
                token="secret",
                headers=(
                    ("impersonate-user", "eve"),
                    ("impersonate-group", "a"),
                    ("impersonate-group", "b"),
                ),
            )
            client = connect(config, clock=SystemClock())
            with pytest.raises(Forbidden, match='User "eve" cannot list'):
                await client.list(Namespace)
            await client.close()

    asyncio.run(main())


def test_credentials_are_the_first_that_are_set(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / "token"
        file.write_text("from-file")
        plugin = ExecPlugin("plugin")
        clock = FakeClock()
        all_of_them = Config("https://x", token_file=file, token="t", exec_plugin=plugin)
        assert await all_of_them.credentials(clock).identity() == bearer("from-file")
        token = Config("https://x", token="t", exec_plugin=plugin)
        assert await token.credentials(clock).identity() == bearer("t")
        by_plugin = Config("https://x", exec_plugin=plugin).credentials(clock)
        assert isinstance(by_plugin, ExecCredentials)
        assert await Config("https://x").credentials(clock).identity() == ANONYMOUS

    asyncio.run(main())


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (Config("https://x", trust=Trust(authority=b"nonsense")), "certificate authority"),
        (Config("gopher://x"), "server gopher://x"),
    ],
)
def test_what_is_wrong_is_said_before_the_first_request(config: Config, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        connect(config, clock=FakeClock())


def test_secrets_are_not_shown() -> None:
    trust = Trust(certificate=(b"certificate", b"key-of-mine"))
    config = Config("https://x", token="secret-of-mine", trust=trust)
    assert "of-mine" not in repr(config)
    assert "of-mine" not in repr(bearer("secret-of-mine"))
