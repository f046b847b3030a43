"""The library is loaded when it is needed; the fake in its place is like it."""

from __future__ import annotations

import ctypes
import inspect
import sys
from typing import Any

import pytest

from dray.drivers.nvml import driver_factory
from dray.drivers.nvml.library import load_library, open_library, optional, said
from dray.sdk import ConfigurationError, DeviceFailed, PermanentError, TransientError
from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu, NVMLError
from tests.unit.drivers.nvml.machines import machine_of

CONSTANTS = sorted(
    name
    for name, value in vars(fake_nvml).items()
    if isinstance(value, int) and name.startswith(("NVML_", "nvml"))
)
STRUCTURES = sorted(
    name
    for name, value in vars(fake_nvml).items()
    if isinstance(value, type) and issubclass(value, (ctypes.Structure, ctypes.Union))
    if name.startswith(("c_nvml", "nvml"))
)
ERRORS = sorted(name for name in vars(fake_nvml) if name.startswith("NVMLError"))


@pytest.fixture(scope="module")
def real() -> Any:
    return pytest.importorskip(
        "pynvml", reason="nvidia-ml-py is not installed, so the fake is compared with nothing"
    )


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_the_fake_are_the_real_ones(real: Any, name: str) -> None:
    assert getattr(real, name) == getattr(fake_nvml, name)


@pytest.mark.parametrize("name", sorted(fake_nvml.FUNCTIONS))
def test_functions_of_the_fake_are_called_as_the_real_ones(real: Any, name: str) -> None:
    def parameters(function: Any) -> list[tuple[str, object]]:
        signature = inspect.signature(function)
        return [(each.name, each.default) for each in signature.parameters.values()]

    assert parameters(getattr(real, name)) == parameters(fake_nvml.FUNCTIONS[name])


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_of_the_fake_have_the_real_fields(real: Any, name: str) -> None:
    def layout(kind: Any) -> list[tuple[str, int, int]]:
        fields = [each[0] for each in kind._fields_]
        return [(each, getattr(kind, each).offset, getattr(kind, each).size) for each in fields]

    assert layout(getattr(real, name)) == layout(getattr(fake_nvml, name))


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_the_fake_are_made_as_the_real_ones(real: Any, name: str) -> None:
    theirs, ours = getattr(real, name), getattr(fake_nvml, name)
    if name == "NVMLError":
        for value in (fake_nvml.NVML_ERROR_GPU_IS_LOST, fake_nvml.NVML_ERROR_TIMEOUT):
            assert type(theirs(value)).__name__ == type(ours(value)).__name__
            assert (theirs(value).value, str(theirs(value))) == (value, str(ours(value)))
        return
    assert theirs().value == ours().value
    assert issubclass(theirs, real.NVMLError)
    assert issubclass(ours, NVMLError)


def test_the_driver_calls_nothing_that_the_real_library_lacks(real: Any) -> None:
    """What the driver asks by name is there, in a version that is two years old as well."""
    from pathlib import Path

    import dray.drivers.nvml

    folder = Path(dray.drivers.nvml.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    import re

    for name in set(re.findall(r"\b(?:nvml\.|\")(nvml[A-Z]\w+)", text)):
        assert hasattr(real, name), name
        assert hasattr(fake_nvml, name), name


def test_a_machine_without_the_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ConfigurationError, match=r"pip install '\.\[nvml\]'"):
        load_library()
    with pytest.raises(ConfigurationError, match=r"pip install '\.\[nvml\]'"):
        driver_factory(None)


def test_a_kernel_driver_that_is_not_loaded_may_be_loaded_later() -> None:
    with machine_of(initialized=False) as machine:
        machine.driver_loaded = False
        with pytest.raises(TransientError, match="NVML cannot be started: Driver Not Loaded"):
            open_library(fake_nvml)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (fake_nvml.NVML_ERROR_GPU_IS_LOST, DeviceFailed),
        (fake_nvml.NVML_ERROR_RESET_REQUIRED, DeviceFailed),
        (fake_nvml.NVML_ERROR_NO_PERMISSION, PermanentError),
        (fake_nvml.NVML_ERROR_IN_USE, TransientError),
    ],
)
def test_errors_say_whether_trying_again_helps(code: int, kind: type[Exception]) -> None:
    made = said(fake_nvml, NVMLError(code), "doing it")
    assert type(made) is kind
    assert str(made).startswith("doing it: ")


def test_what_a_gpu_does_not_have_is_none_and_what_is_wrong_is_raised() -> None:
    with machine_of(FakeGpu(0, uncorrected=None)) as machine:
        handle = fake_nvml.nvmlDeviceGetHandleByIndex(0)
        assert optional(fake_nvml, "nvmlDeviceGetTotalEccErrors", handle, 1, 0) is None
        assert optional(fake_nvml, "nvmlDeviceGetSomethingNew", handle) is None
        machine.gpus[0].lost = True
        with pytest.raises(NVMLError):
            optional(fake_nvml, "nvmlDeviceGetTotalEccErrors", handle, 1, 0)
