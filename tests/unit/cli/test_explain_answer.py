from __future__ import annotations

from dray.cli.explain_answer import Answer, Verdict


def test_only_two_verdicts_are_good() -> None:
    assert [one.value for one in Verdict if one.good] == ["Fits", "Allocated"]


def test_the_first_node_is_the_first_that_fits() -> None:
    assert Answer(Verdict.FITS, "", fitting=("b", "a")).first == "b"
    assert Answer(Verdict.DOES_NOT_FIT, "").first is None
