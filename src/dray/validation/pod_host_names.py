"""How names are resolved in a pod: DNS settings, and lines of its hosts file.

Upstream counterparts: validatePodDNSConfig and ValidateHostAliases in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api import names
from dray.api.core.parts import HostAlias, PodDNSConfig
from dray.validation.addresses import check_address
from dray.validation.findings import Findings
from dray.validation.rules import byte_length, check_dns_subdomain

__all__ = ["DNS_NONE", "check_dns_config", "check_host_aliases"]

# What resolvers of the usual C libraries bear.
NAMESERVERS_MAX: Final = 3
SEARCHES_MAX: Final = 32
SEARCHES_BYTES_MAX: Final = 2048

DNS_NONE: Final = "None"


def check_dns_config(
    found: Findings, config: PodDNSConfig | None, dns_policy: str, path: str
) -> None:
    if dns_policy == DNS_NONE:
        if config is None:
            found.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.nameservers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            found.required(f"{path}.nameservers", detail)
            return
    if config is None:
        return
    servers, searches = config.nameservers, config.searches
    if len(servers) > NAMESERVERS_MAX:
        detail = f"must not have more than {NAMESERVERS_MAX} nameservers"
        found.invalid(f"{path}.nameservers", list(servers), detail)
    for index, server in enumerate(servers):
        check_address(found, server, f"{path}.nameservers[{index}]")
    if len(searches) > SEARCHES_MAX:
        detail = f"must not have more than {SEARCHES_MAX} search paths"
        found.invalid(f"{path}.searches", list(searches), detail)
    if byte_length(" ".join(searches)) > SEARCHES_BYTES_MAX:
        detail = (
            f"must not have more than {SEARCHES_BYTES_MAX} characters (including spaces) in the "
            "search list"
        )
        found.invalid(f"{path}.searches", list(searches), detail)
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            for message in names.dns_subdomain_with_underscores(domain):
                found.invalid(f"{path}.searches[{index}]", domain, message)
    for index, option in enumerate(config.options):
        if not option.name:
            found.required(f"{path}.options[{index}]", "must not be empty")


def check_host_aliases(found: Findings, aliases: Sequence[HostAlias], path: str) -> None:
    for index, alias in enumerate(aliases):
        check_address(found, alias.ip, f"{path}[{index}].ip")
        for place, name in enumerate(alias.hostnames):
            check_dns_subdomain(found, name, f"{path}[{index}].hostnames[{place}]")
