"""One line for what is not YAML."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from dray.drivers.host.reading import read_config as read_host
from dray.drivers.nvml.config import read_config as read_nvml
from dray.drivers.simulated.fleet import read_fleet
from dray.drivers.yaml_errors import describe_yaml_error
from dray.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("a: [1", "line 1, column 6: not YAML: expected ',' or ']'", id="open"),
        pytest.param("a:\n\t- b", "line 2, column 1: not YAML: found character '\\t'", id="tab"),
        pytest.param(
            "a: 1\nb: *c", "line 2, column 4: not YAML: found undefined alias", id="alias"
        ),
        pytest.param("a: \x00", "not YAML: unacceptable character #x0000", id="no-mark"),
    ],
)
def test_a_line_says_where_and_by_which_rule(text: str, told: str) -> None:
    with pytest.raises(yaml.YAMLError) as refused:
        yaml.safe_load(text)
    line = describe_yaml_error(refused.value)
    assert line.startswith(told)
    assert "\n" not in line


@pytest.mark.parametrize("read", [read_fleet, read_host, read_nvml])
def test_every_driver_says_it_in_a_line(read: Callable[..., object]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read("nodes:\n- [a\n", source="devices.yaml")
    assert str(refused.value).startswith("devices.yaml: line 3, column 1: not YAML: ")
    assert "\n" not in str(refused.value)
