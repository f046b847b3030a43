"""Whether the server lives, and whether it is ready: for people, probes and load balancers.

`/livez` says that the process answers; `/readyz` that it can do its work, which it cannot while it
starts or stops; `/healthz` is the older name of both. A single check has a path of its own, and
`?verbose` lists them all. Upstream counterpart: apiserver pkg/server/healthz.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Final

from dray.http.messages import Request, Response

__all__ = ["Check", "Health"]

# None if all is well, else what is wrong. Finding out may take a moment.
Check = Callable[[], str | Awaitable[str | None] | None]

_TEXT: Final = (
    ("Content-Type", "text/plain; charset=utf-8"),
    ("Cache-Control", "no-cache, private"),
    ("X-Content-Type-Options", "nosniff"),
)


class Health:
    """The checks of a server, by name."""

    def __init__(self, live: Mapping[str, Check], ready: Mapping[str, Check]) -> None:
        """`ready` are the checks besides those of life."""
        self._checks: Mapping[str, dict[str, Check]] = {
            "healthz": {**live, **ready},
            "livez": dict(live),
            "readyz": {**live, **ready},
        }

    def add(self, name: str, check: Check) -> None:
        """One more thing that must be well for the server to be ready."""
        self._checks["healthz"][name] = check
        self._checks["readyz"][name] = check

    @property
    def paths(self) -> list[str]:
        """Every path that is answered here."""
        return [
            path
            for name, checks in self._checks.items()
            for path in (f"/{name}", *(f"/{name}/{check}" for check in checks))
        ]

    async def __call__(self, request: Request) -> Response | None:
        """The answer to a probe, or None if the path is another."""
        name, _, single = request.path.strip("/").partition("/")
        checks = self._checks.get(name)
        if checks is None or (single and single not in checks):
            return None
        excluded = set(request.query.get("exclude", ()))
        results = {
            check: await _ask(ask)
            for check, ask in checks.items()
            if check not in excluded and single in ("", check)
        }
        failed = any(problem is not None for problem in results.values())
        if not failed and "verbose" not in request.query:
            return Response(200, _TEXT, b"ok")
        lines = [_line(check, problem) for check, problem in results.items()]
        lines += [f"[+]{check} excluded: ok" for check in checks if check in excluded]
        lines.append(f"{name} check {'failed' if failed else 'passed'}")
        return Response(500 if failed else 200, _TEXT, ("\n".join(lines) + "\n").encode())


async def _ask(check: Check) -> str | None:
    answer = check()
    return await answer if isawaitable(answer) else answer


def _line(check: str, problem: str | None) -> str:
    return f"[+]{check} ok" if problem is None else f"[-]{check} failed: {problem}"
