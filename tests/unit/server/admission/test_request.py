from __future__ import annotations

from msgspec.structs import fields, replace

from dray.api.meta import DeleteOptions
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from tests.unit.server.admission.builders import ALICE, PODS, create, pod


class Nothing(Plugin):
    """Leaves everything as it is inherited."""


def test_a_plugin_that_says_nothing_lets_everything_pass_unchanged() -> None:
    plugin, request = Nothing(), create(PODS, pod())
    assert plugin.concerns(PODS, "", Operation.CREATE)
    assert plugin.admit(request) is request.object
    plugin.validate(request)
    assert plugin.warn(request) == ()


def test_a_request_for_another_object_is_the_same_in_all_else() -> None:
    request = AdmissionRequest(
        Operation.UPDATE, PODS, ALICE, "ns", "p", "status", True, pod(), pod("old"), DeleteOptions()
    )
    assert all(getattr(request, field.name) for field in fields(request)), "nothing is a default"
    assert request.with_object(1) == replace(request, object=1)
