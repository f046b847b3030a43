from __future__ import annotations

from dray.server.admission.request import Operation, Plugin
from tests.unit.server.admission.builders import PODS, create, pod


class Nothing(Plugin):
    """Leaves everything as it is inherited."""


def test_a_plugin_that_says_nothing_lets_everything_pass_unchanged() -> None:
    plugin, request = Nothing(), create(PODS, pod())
    assert plugin.concerns(PODS, "", Operation.CREATE)
    assert plugin.admit(request) is request.object
    plugin.validate(request)
    assert plugin.warn(request) == ()
