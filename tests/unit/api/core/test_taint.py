"""Node taints as people write them."""

from __future__ import annotations

import pytest

from dray.api.core import TAINT_EFFECT_NO_EXECUTE, Taint


@pytest.mark.parametrize(
    ("taint", "text"),
    [
        pytest.param(
            Taint(key="gpu", value="yes", effect=TAINT_EFFECT_NO_EXECUTE),
            "gpu=yes:NoExecute",
            id="with-value",
        ),
        pytest.param(
            Taint(key="gpu", effect=TAINT_EFFECT_NO_EXECUTE), "gpu:NoExecute", id="without-value"
        ),
    ],
)
def test_a_taint_prints_as_people_write_it(taint: Taint, text: str) -> None:
    assert str(taint) == text
