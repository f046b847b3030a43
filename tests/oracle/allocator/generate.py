"""Random cases for the allocator, each from one seed, in the format the oracle reads.

    python tests/oracle/allocator/generate.py 7        print the case of a seed

Nothing here imports dray: the questions must not share its mistakes. Cases are mostly what an API
server would store. Some are not, because the allocator must not rely on that; a case has at most
one fault that is put there on purpose. Members that are present but empty are left out, since the
types of most implementations do not tell them from absent ones.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.oracle.allocator.inventory import in_use, inventory, node
from tests.oracle.allocator.wishes import claims, classes
from tests.oracle.allocator.world import (
    DRIVERS,
    GATE_BESIDE,
    GATE_KEPT,
    GATES,
    NODES,
    THEMES,
    Object,
    World,
)

FAULT: Final = 0.28
THEMES_SCALE: Final = 0.8  # the more themes, the less often all of them allow a success
# What can be put wrong, how often, and the theme without which it would not show.
FAULTS: Final[dict[str, tuple[float, str | None]]] = {
    "attribute": (1.5, None),
    "capacity": (2.5, "capacity"),
    "class compile": (0.5, None),
    "class failing": (1, None),
    "compile": (1, None),
    "constraint": (0.6, "constraints"),
    "count": (1, None),
    "derived": (1.5, "derived"),
    "duplicate device": (1.5, None),
    "duplicate set": (0.7, "counters"),
    "failing": (2, None),
    "incomplete": (1.2, None),
    "missing class": (0.7, None),
    "mode": (0.4, None),
    "no class": (0.4, None),
    "node selector": (0.8, "nodes"),
    "selector kind": (0.4, None),
    "terms": (0.8, "nodes"),
    "unknown counter": (1.2, "counters"),
}


def world(seed: int) -> World:
    random = Random(seed)
    themes = {name for name, (_, often) in THEMES.items() if random.random() < often * THEMES_SCALE}
    fault = None
    if random.random() < FAULT:
        weights = [weight for weight, _ in FAULTS.values()]
        fault = random.choices(list(FAULTS), weights)[0]
        needed = FAULTS[fault][1]
        if needed is not None:
            themes.add(needed)
    needed_gates = {gate for theme in themes for gate in THEMES[theme][0]}
    features = [
        gate
        for gate in GATES
        if random.random() < (GATE_KEPT if gate in needed_gates else GATE_BESIDE)
    ]
    return World(
        random=random,
        themes=frozenset(themes),
        features=features,
        drivers=random.sample(DRIVERS, random.choices((1, 2, 3), (6, 5, 1))[0]),
        node=random.choice(NODES),
        fault=fault,
    )


def case(seed: int) -> Object:
    """The case of a seed; the same seed gives the same case."""
    made = world(seed)
    slices = inventory(made)
    allocated, shared, consumed = in_use(made, slices)
    return {
        "name": f"seed-{seed}",
        "features": made.features,
        "node": node(made),
        "classes": classes(made),
        "slices": slices,
        "claims": claims(made),
        "allocated": allocated,
        "shared": shared,
        "consumed": consumed,
    }


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(json.dumps(case(int(argument)), indent=2) + "\n")
