"""Acting as somebody else, by the Impersonate-* headers.

Every part of the wanted identity (the name, each group, each extra value, the UID) must be allowed
on its own by the verb `impersonate`; one that is not ends it. Groups that come with being a service
account, or with being authenticated, are added rather than asked for.

Upstream counterpart: apiserver pkg/endpoints/filters/impersonation, its plain mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from dray.errors import BadRequest, quote
from dray.server.auth.chain import Authorizer, forbidden
from dray.server.auth.identities import service_account_groups, service_account_of
from dray.server.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, Attributes, User

__all__ = ["impersonate"]

_USER: Final = "impersonate-user"
_GROUP: Final = "impersonate-group"
_UID: Final = "impersonate-uid"
_EXTRA: Final = "impersonate-extra-"

# How values of a header that was sent several times are told apart. A value with one of its own
# becomes two; both are checked, so nobody gains by it.
_SEPARATOR: Final = ", "


def impersonate(user: User, headers: Mapping[str, str], authorizer: Authorizer) -> User:
    """Who the request is to be served as; the user themselves without any such header.

    Forbidden if they may not act as that user; BadRequest without a user to act as.
    """
    name, uid = headers.get(_USER, ""), headers.get(_UID, "")
    groups = tuple(headers[_GROUP].split(_SEPARATOR)) if _GROUP in headers else ()
    extra = {
        unquote(header[len(_EXTRA) :]): tuple(value.split(_SEPARATOR))
        for header, value in headers.items()
        if header.startswith(_EXTRA)
    }
    if not name:
        if uid or groups or extra:
            wanted = _show(uid, groups, extra)
            raise BadRequest(f"requested {wanted} without impersonating a user name")
        return user
    for attributes in _questions(user, name, uid, groups, extra):
        decision = authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision)
    return User(name, uid=uid, groups=_with_implied(name, groups), extra=extra)


def _questions(
    user: User, name: str, uid: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]
) -> Iterator[Attributes]:
    """What the user must be allowed to do, one request for each part of the identity."""
    account = service_account_of(name)
    if account is not None:
        yield Attributes(
            user,
            "impersonate",
            version="v1",
            resource="serviceaccounts",
            namespace=account[0],
            name=account[1],
        )
    else:
        yield Attributes(user, "impersonate", version="v1", resource="users", name=name)
    authentication = {"group": "authentication.k8s.io", "version": "v1"}
    if uid:
        yield Attributes(user, "impersonate", resource="uids", name=uid, **authentication)
    for group in groups:
        yield Attributes(user, "impersonate", version="v1", resource="groups", name=group)
    for key, values in extra.items():
        for value in values:
            yield Attributes(
                user,
                "impersonate",
                resource="userextras",
                subresource=key,
                name=value,
                **authentication,
            )


def _with_implied(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    account = service_account_of(name)
    if account is not None and not groups:
        groups = service_account_groups(account[0])
    if name == ANONYMOUS.name:
        implied, instead = ALL_UNAUTHENTICATED, {ALL_UNAUTHENTICATED}
    else:
        implied, instead = ALL_AUTHENTICATED, {ALL_AUTHENTICATED, ALL_UNAUTHENTICATED}
    return groups if instead.intersection(groups) else (*groups, implied)


def _show(uid: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]) -> str:
    """The identity as upstream's message prints it, which is the way Go shows a struct."""
    shown_groups, shown_extra = "[]string(nil)", "map[string][]string(nil)"
    if groups:
        shown_groups = _go_list(groups)
    if extra:
        entries = ", ".join(
            f"{quote(key)}:{_go_list(values)}" for key, values in sorted(extra.items())
        )
        shown_extra = f"map[string][]string{{{entries}}}"
    return (
        f'&user.DefaultInfo{{Name:"", UID:{quote(uid)},'
        f" Groups:{shown_groups}, Extra:{shown_extra}}}"
    )


def _go_list(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(quote(value) for value in values)}}}"
