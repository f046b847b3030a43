"""Randomness: replayable when seeded, well-formed always."""

from __future__ import annotations

import subprocess
import sys
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


def test_what_the_system_draws_does_not_repeat() -> None:
    entropy = SystemEntropy()
    assert len({entropy.uid() for _ in range(2000)}) == 2000
    assert len({entropy.name_suffix() for _ in range(200)}) > 190


def test_uids_use_all_the_bits_that_are_theirs() -> None:
    entropy = SystemEntropy()
    uids = [uuid.UUID(entropy.uid()) for _ in range(500)]
    assert all(uid.version == 4 and uid.variant == uuid.RFC_4122 for uid in uids)
    # Six of the 128 bits are fixed; every other is sometimes set and sometimes not.
    ever, always = 0, (1 << 128) - 1
    for uid in uids:
        ever |= uid.int
        always &= uid.int
    assert (ever & ~always).bit_count() == 122


_FORK = """
import os
from dray.entropy import SystemEntropy
entropy = SystemEntropy()
entropy.uid()
if os.fork():
    os.wait()
os.write(1, entropy.uid().encode() + b" ")
"""


def test_a_child_process_draws_its_own() -> None:
    # In a process of its own: one with threads had better not fork.
    done = subprocess.run([sys.executable, "-c", _FORK], stdout=subprocess.PIPE, check=True)
    first, second = done.stdout.decode().split()
    assert first != second
