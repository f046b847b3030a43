"""Sockets: names that fit, and files that are in the way."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from dray.errors import ConfigurationError
from dray.sdk._sockets import (
    clear_path,
    clear_siblings,
    registration_socket,
    remove_socket,
    service_socket,
)
from tests.unit.sdk.drivers import short_directory

UID = "01234567-89ab-cdef-0123-456789abcdef"
REGISTRY = Path("/var/lib/kubelet/plugins_registry")


def test_names_are_upstreams() -> None:
    plugin = Path("/var/lib/kubelet/plugins/d.example.com")
    assert service_socket(plugin) == plugin / "dra.sock"
    assert service_socket(plugin, UID) == plugin / f"dra-{UID}.sock"
    assert registration_socket(REGISTRY, "d.example.com") == REGISTRY / "d.example.com-reg.sock"
    assert (
        registration_socket(REGISTRY, "d.example.com", UID).name == f"d.example.com-{UID}-reg.sock"
    )


@pytest.mark.parametrize(
    ("length", "suffix"), [(27, f"-{UID}-reg.sock"), (28, "-oj0Aa7AgqB0-reg.sock")]
)
def test_a_name_that_is_too_long_is_shortened_by_upstreams_rules(length: int, suffix: str) -> None:
    found = registration_socket(REGISTRY, "d" * length, UID)
    assert found.name == "d" * length + suffix
    assert len(str(found)) <= 107


def test_the_shortest_name_hides_the_driver_and_still_fits() -> None:
    deep = Path("/" + "x" * 66)
    found = registration_socket(deep, "d" * 63, UID)
    assert found.name == "dra-AGh4Ri2glx590fxVGBaxyw-reg.sock"
    other = registration_socket(deep, "e" * 63, UID)
    assert other != found


def test_a_path_that_can_never_fit_is_refused_with_its_length() -> None:
    with pytest.raises(ConfigurationError, match="has a path of 130 bytes, of 107 at most"):
        service_socket(Path("/" + "x" * 120))
    with pytest.raises(ConfigurationError, match="use a directory with a shorter path"):
        registration_socket(Path("/" + "x" * 100), "d", UID)


def test_only_a_socket_that_nobody_listens_at_is_removed() -> None:
    async def scenario(root: Path) -> None:
        path = root / "s"
        await clear_path(path)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            with pytest.raises(ConfigurationError, match="another process listens at"):
                await clear_path(path)
            assert path.exists()
        await clear_path(path)
        assert not path.exists()
        path.write_text("mine")
        with pytest.raises(ConfigurationError, match="is in the way, and is no socket"):
            await clear_path(path)
        assert path.read_text() == "mine"

    with short_directory() as root:
        asyncio.run(scenario(root))


def test_removing_what_is_gone_is_no_error(tmp_path: Path) -> None:
    remove_socket(tmp_path / "s")


def test_sockets_of_killed_siblings_are_removed_and_those_of_others_not() -> None:
    async def scenario(root: Path) -> None:
        registry, plugin = root / "r", root / "p"
        registry.mkdir()
        plugin.mkdir()
        dead = [
            registry / f"d.example.com-{UID}-reg.sock",
            registry / "d.example.com-oj0Aa7AgqB0-reg.sock",
            plugin / f"dra-{UID}.sock",
        ]
        foreign = [
            registry / "d.example.com-reg.sock",
            registry / "e.example.com-reg.sock",
            registry / f"dXexample.com-{UID}-reg.sock",
            plugin / "dra.sock",
        ]
        for path in dead + foreign:
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(str(path))
        (plugin / "dra-file.sock").write_text("no socket")
        with socket.socket(socket.AF_UNIX) as alive:
            alive.bind(str(plugin / "dra-alive.sock"))
            alive.listen()
            removed = await clear_siblings(registry, plugin, "d.example.com")
        assert sorted(removed) == sorted(dead)
        assert all(path.exists() for path in foreign)
        assert (plugin / "dra-alive.sock").exists()

    with short_directory() as root:
        asyncio.run(scenario(root))
    assert asyncio.run(clear_siblings(Path("/nowhere"), Path("/nowhere"), "d")) == ()
