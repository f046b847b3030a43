"""Names of templates."""

from __future__ import annotations

from dray.api.names import label_value
from dray.controllers.template_hash import NAME_CHARACTERS_MAX, hashed_name, template_hash
from tests.unit.controllers.workloads import make_template


def test_equal_templates_have_the_same_hash_in_whatever_order_they_came() -> None:
    left, right = make_template({"a": "1", "b": "2"}), make_template({"b": "2", "a": "1"})
    assert template_hash(left) == template_hash(right)


def test_other_templates_and_collisions_have_other_hashes() -> None:
    template = make_template({"a": "1"})
    hashes = {
        template_hash(template),
        template_hash(template, 0),
        template_hash(template, 1),
        template_hash(make_template({"a": "2"})),
        template_hash(make_template({"a": "1"}, image="other")),
    }
    assert len(hashes) == 5
    assert all(not label_value(each) for each in hashes)


def test_it_stays_the_same_from_version_to_version() -> None:
    """Pods carry it as a label: another one would replace all pods of daemon sets."""
    assert template_hash(make_template({"a": "1"})) == "qd57ql9v6r"


def test_a_name_is_cut_so_that_the_hash_fits() -> None:
    assert hashed_name("web", "abc") == "web-abc"
    long = hashed_name("w" * NAME_CHARACTERS_MAX, "abc")
    assert (len(long), long[-5:]) == (NAME_CHARACTERS_MAX, "w-abc")
