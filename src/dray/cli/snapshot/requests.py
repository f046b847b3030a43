"""What a scheduler holds against a claim's requests before it looks at any device.

Every class must exist, those of alternatives that will not be needed included. Upstream
counterpart: PreFilter of the scheduler's dynamicresources.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from dray.api.resource import DeviceRequest, ResourceClaim
from dray.cli.snapshot.names import ObjectName, hint_for
from dray.cli.snapshot.subject import Problem, ProblemKind
from dray.errors import quote, shorten

if TYPE_CHECKING:
    from dray.cli.snapshot.view import Snapshot

__all__ = ["request_problems"]


def request_problems(snapshot: Snapshot, claim: ResourceClaim, entry: str) -> Iterator[Problem]:
    """All that is in the way; `entry` is the claim's name in its pod."""
    name = ObjectName(claim.metadata.namespace, claim.metadata.name)
    for request in claim.spec.devices.requests or ():
        said = f"claim {name}: request {quote(shorten(request.name))}"
        problem = partial(Problem, entry=entry, claim=name, request=request.name)
        if request.exactly is None and not request.first_available:
            text = f"{said} asks for nothing: it has neither exactly nor firstAvailable"
            yield problem(ProblemKind.REQUEST_EMPTY, text)
        for full_name, class_name in _classes(request):
            said = f"claim {name}: request {quote(shorten(full_name))}"
            problem = partial(Problem, entry=entry, claim=name, request=full_name)
            if not class_name:
                yield problem(ProblemKind.CLASS_NOT_NAMED, f"{said} names no device class")
            elif class_name not in snapshot.classes:
                known = [ObjectName("", one) for one in snapshot.classes]
                yield problem(
                    ProblemKind.CLASS_MISSING,
                    f"{said} asks for device class {quote(class_name)}, which is not in the "
                    f"{snapshot.origin}",
                    hint_for(ObjectName("", class_name), known, "deviceclasses", snapshot.origin),
                    missing=class_name,
                )


def _classes(request: DeviceRequest) -> Iterator[tuple[str, str]]:
    """Each class a request asks for, with the name of the request or alternative."""
    if request.exactly is not None:
        yield request.name, request.exactly.device_class_name
    for alternative in request.first_available:
        yield f"{request.name}/{alternative.name}", alternative.device_class_name
