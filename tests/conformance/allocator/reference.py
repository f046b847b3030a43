"""A plain allocator to hold the clever one against.

It searches as upstream's experimental allocator of Kubernetes 1.37 does, in the same order, with
the same steps counted and the same errors, and is written to be checked by reading: no state is
kept that could be worked out again. It is slow, and has no place outside of tests.

    case ─ reference_model ─→ reference_pools ─→ reference_requests ─→ reference_search ─→
           reference_results

It shares the API's types and the expressions with dray, and nothing with dray.allocator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dray.api.codec import to_builtins
from tests.conformance.allocator.reference_model import Refusal, read_case
from tests.conformance.allocator.reference_pools import gather_pools
from tests.conformance.allocator.reference_requests import prepare
from tests.conformance.allocator.reference_results import SHARE_ID, assemble
from tests.conformance.allocator.reference_search import Outcome, Search, StepsExceeded
from tests.conformance.allocator.reference_selectors import Selectors

__all__ = ["SHARE_ID", "allocate_case"]


def allocate_case(case: Mapping[str, Any], *, steps_max: int | None = None) -> dict[str, Any]:
    """The answer to a case of the recorded format.

    `fits` says whether there are results. If so, `results` has one for each claim; shares have
    SHARE_ID. `steps` counts as upstream counts. An `error` is upstream's text, `nodeOnly` if other
    nodes may still be tried. `aborted` stands for all of it when `steps_max` was not enough.
    """
    read = read_case(case)
    try:
        pools = gather_pools(read)
        selectors = Selectors(read)
        requests = prepare(read, pools, selectors)
        search = Search(read, pools, requests, selectors, steps_max)
        outcome = search.run()
        if outcome is not Outcome.FOUND:
            if any(pool.is_invalid for pool in pools):
                raise Refusal("invalid resource pools were encountered", node_only=True)
            return {"fits": False, "results": [], "steps": search.steps}
        results = assemble(read, requests, search.chosen, search.alternatives)
        return {
            "fits": True,
            "results": [to_builtins(result) for result in results],
            "steps": search.steps,
        }
    except StepsExceeded:
        return {"fits": False, "aborted": True}
    except Refusal as refusal:
        return {"fits": False, "error": refusal.message, "nodeOnly": refusal.node_only}
