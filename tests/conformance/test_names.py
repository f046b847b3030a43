"""Name rules against recordings of upstream: every message of every rule, word for word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dray.api import names
from tests.conformance.recordings import read_recording

Rule = Callable[[str], tuple[str, ...]]

PLAIN_RULES: dict[str, Rule] = {
    "dnsLabel": names.dns_label,
    "dnsSubdomain": names.dns_subdomain,
    "dnsSubdomainCaseless": names.long_name_caseless,
    "dns1035Label": names.dns_1035_label,
    "labelKey": names.label_key,
    "labelValue": names.label_value,
    "prefixedLabelKey": names.prefixed_label_key,
    "cIdentifier": names.c_identifier,
    "pathSegment": names.path_segment,
    "configMapKey": names.config_map_key,
    "environmentName": names.environment_variable_name,
    "nameSubdomain": names.dns_subdomain,
    "nameSubdomainPrefix": lambda text: names.dns_subdomain(names.mask_trailing_dash(text)),
    "nameLabel": names.dns_label,
    "nameLabelPrefix": lambda text: names.dns_label(names.mask_trailing_dash(text)),
}

# These are recorded as field errors, whose field is "x".
DECLARATIVE_RULES: dict[str, Rule] = {
    "shortName": names.short_name,
    "longName": names.long_name,
    "longNameCaseless": names.long_name_caseless,
    "uuid": names.uuid,
}


def rejected() -> list[tuple[str, dict[str, list[str]]]]:
    """Each recorded text, with upstream's messages by rule."""
    return [(request["text"], answer["rejected"]) for request, answer in read_recording("names")]


@pytest.mark.slow
def test_every_recorded_text_breaks_the_rules_upstream_says_it_breaks() -> None:
    cases = rejected()
    differences = []
    for text, messages in cases:
        for name, rule in PLAIN_RULES.items():
            if list(rule(text)) != messages.get(name, []):
                differences.append((text, name, rule(text), messages.get(name)))
        for name, rule in DECLARATIVE_RULES.items():
            got = [f"FieldValueInvalid: x: {message}" for message in rule(text)]
            if got != messages.get(name, []):
                differences.append((text, name, rule(text), messages.get(name)))
    assert differences == []
    assert len(cases) >= 1_500
