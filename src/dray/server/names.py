"""Names that are allowed and unwise: what their authors are told.

Upstream counterpart: the DNS label warnings of the strategies of pods and workloads.
"""

from __future__ import annotations

__all__ = ["host_name_warning"]

_LABEL_CHARACTERS_MAX = 63


def host_name_warning(name: str, use: str) -> str | None:
    """What is surprising about a name that becomes (part of) a host name."""
    problems = []
    if len(name) > _LABEL_CHARACTERS_MAX:
        problems.append(f"must be no more than {_LABEL_CHARACTERS_MAX} characters")
    if "." in name:
        problems.append("must not contain dots")
    if not problems:
        return None
    return (
        f"metadata.name: this is used in {use}, which can result in surprising behavior; "
        f"a DNS label is recommended: [{' '.join(problems)}]"
    )
