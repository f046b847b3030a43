"""DefaultTolerationSeconds: pods stay for a while on a node that stops answering.

Without a toleration of its own, a pod gets one for each of the two NoExecute taints of sick nodes,
limited to five minutes: long enough for a reboot, short enough to move on. Upstream counterpart:
plugin/pkg/admission/defaulttolerationseconds.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api.core import (
    TAINT_EFFECT_NO_EXECUTE,
    TOLERATION_OPERATOR_EXISTS,
    Pod,
    PodSpec,
    Toleration,
)
from dray.api.node_taints import TAINT_NOT_READY, TAINT_UNREACHABLE
from dray.api.shared import deriving
from dray.api.wire import replace
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource

__all__ = ["DEFAULT_SECONDS", "DefaultTolerationSeconds"]

DEFAULT_SECONDS: Final = 300


class DefaultTolerationSeconds(Plugin):
    """Adds what a pod does not say about taints of nodes in trouble."""

    def __init__(
        self,
        *,
        not_ready_seconds: int = DEFAULT_SECONDS,
        unreachable_seconds: int = DEFAULT_SECONDS,
    ) -> None:
        self._added = (
            _toleration(TAINT_NOT_READY, not_ready_seconds),
            _toleration(TAINT_UNREACHABLE, unreachable_seconds),
        )

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        asked = (resource.group, resource.plural, subresource)
        return asked == ("", "pods", "") and operation in (Operation.CREATE, Operation.UPDATE)

    def admit(self, request: AdmissionRequest) -> Any:
        pod: Pod = request.object
        spec = _tolerating(pod.spec, self._added)
        return pod if spec is pod.spec else replace(pod, spec=spec)


@deriving
def _tolerating(spec: PodSpec, added: tuple[Toleration, ...]) -> PodSpec:
    # What a pod says about a key counts whatever else it says: even a toleration that does not
    # last shows that somebody thought about it.
    about = {
        toleration.key
        for toleration in spec.tolerations
        if toleration.effect in ("", TAINT_EFFECT_NO_EXECUTE)
    }
    if "" in about:
        return spec
    missing = tuple(toleration for toleration in added if toleration.key not in about)
    return replace(spec, tolerations=(*spec.tolerations, *missing)) if missing else spec


def _toleration(key: str, seconds: int) -> Toleration:
    return Toleration(
        key=key,
        operator=TOLERATION_OPERATOR_EXISTS,
        effect=TAINT_EFFECT_NO_EXECUTE,
        toleration_seconds=seconds,
    )
