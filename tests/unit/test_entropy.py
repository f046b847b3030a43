"""Randomness: replayable when seeded, well-formed always."""

from __future__ import annotations

import uuid

import pytest

from dray.entropy import NAME_ALPHABET, Entropy, SeededEntropy, SystemEntropy


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(1)], ids=["system", "seeded"])
def test_draws_have_the_form_kubernetes_expects(entropy: Entropy) -> None:
    uid = uuid.UUID(entropy.uid())
    assert (uid.version, str(uid).lower()) == (4, str(uid))
    suffix = entropy.name_suffix()
    assert len(suffix) == 5
    assert set(suffix) <= set(NAME_ALPHABET)
    assert len(entropy.token_bytes(20)) == 20
    assert 2.0 <= entropy.uniform(2.0, 3.0) <= 3.0


def test_one_seed_gives_one_sequence() -> None:
    first, second, other = SeededEntropy(7), SeededEntropy(7), SeededEntropy(8)
    draws = [first.uid(), first.name_suffix(), first.token_bytes(4), first.uniform(0, 1)]
    assert draws == [
        second.uid(),
        second.name_suffix(),
        second.token_bytes(4),
        second.uniform(0, 1),
    ]
    assert draws[0] != other.uid()
