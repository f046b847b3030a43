"""Settings: from flags and environment, and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.errors import ConfigurationError
from dray.sdk._settings import Settings, settings_from


def test_the_environment_says_what_pods_know() -> None:
    settings, level = settings_from(
        [],
        {"NODE_NAME": "n1", "POD_UID": "u", "CDI_ROOT": "/cdi"},
        driver="d.example.com",
    )
    assert settings == Settings(node_name="n1", pod_uid="u", cdi_directory=Path("/cdi"))
    assert level == "info"
    assert settings.plugin_path("d.example.com") == Path("/var/lib/kubelet/plugins/d.example.com")
    assert settings.registry_path() == Path("/var/lib/kubelet/plugins_registry")


def test_a_list_of_kubeconfigs_is_not_taken_for_one_file() -> None:
    several = {"KUBECONFIG": "/a:/b"}
    settings, _level = settings_from([], several, driver="d.example.com")
    assert settings.kubeconfig == ""  # whoever reads the files looks there
    settings, _level = settings_from(["--kubeconfig=/k"], several, driver="d.example.com")
    assert settings.kubeconfig == "/k"


def test_flags_outweigh_the_environment() -> None:
    settings, level = settings_from(
        [
            "--node-name=n2",
            "--plugin-directory=/p",
            "--registry-directory=/r",
            "--no-v1beta1",
            "--no-health",
            "--no-publish",
            "--device-class=gpu",
            "--health-address=:8080",
            "--log-level=debug",
        ],
        {"NODE_NAME": "n1"},
        driver="d.example.com",
    )
    assert settings.node_name == "n2"
    assert settings.plugin_path("d.example.com") == Path("/p")
    assert settings.registry_path() == Path("/r")
    assert (settings.offer_v1, settings.offer_v1beta1, settings.offer_health) == (
        True,
        False,
        False,
    )
    assert (settings.publish, settings.device_class, level) == (False, "gpu", "debug")
    assert settings.health_address == ":8080"


def test_a_flag_that_does_not_exist_ends_the_process_with_two() -> None:
    with pytest.raises(SystemExit) as caught:
        settings_from(["--nonsense"], {}, driver="d")
    assert caught.value.code == 2


def test_the_environments_level_of_logging_is_checked_as_the_flags_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert settings_from([], {"LOG_LEVEL": "DEBUG"}, driver="d")[1] == "debug"
    with pytest.raises(SystemExit) as caught:
        settings_from([], {"LOG_LEVEL": "verbose"}, driver="d")
    assert caught.value.code == 2
    assert 'LOG_LEVEL "verbose" is none of debug, info' in capsys.readouterr().err


def test_all_that_is_wrong_is_said_at_once() -> None:
    broken = Settings(pod_uid="A B", offer_v1=False, offer_v1beta1=False, device_class="-")
    with pytest.raises(ConfigurationError) as caught:
        broken.check("d.example.com")
    text = str(caught.value)
    for part in ("NODE_NAME", "pod UID", "neither v1", "class"):
        assert part in text


def test_a_driver_that_publishes_nothing_needs_no_node() -> None:
    Settings(publish=False).check("d.example.com")
