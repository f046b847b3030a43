"""The names Kubernetes itself gives to users: service accounts, nodes, and what they carry.

A name is how one part of the server recognizes what another established, so both sides of every
convention are here: making `system:serviceaccount:NAMESPACE:NAME`, and taking it apart again.

Upstream counterparts: apiserver pkg/authentication/serviceaccount, pkg/auth/nodeidentifier.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dray.api import names
from dray.server.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, User

__all__ = [
    "ALL_SERVICE_ACCOUNTS",
    "CREDENTIAL_ID",
    "NODES",
    "NODE_NAME",
    "NODE_UID",
    "POD_NAME",
    "POD_UID",
    "authenticated",
    "node_of",
    "service_account_groups",
    "service_account_of",
    "service_account_user_name",
]

ALL_SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
NODES: Final = "system:nodes"

# Keys of a user's extra.
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
POD_NAME: Final = "authentication.kubernetes.io/pod-name"
POD_UID: Final = "authentication.kubernetes.io/pod-uid"
NODE_NAME: Final = "authentication.kubernetes.io/node-name"
NODE_UID: Final = "authentication.kubernetes.io/node-uid"

_SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"
_NODE_PREFIX: Final = "system:node:"


def authenticated(user: User) -> User:
    """The user in the group of all who showed who they are."""
    if ALL_AUTHENTICATED in user.groups or ALL_UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, ALL_AUTHENTICATED))


def service_account_user_name(namespace: str, name: str) -> str:
    return f"{_SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return (ALL_SERVICE_ACCOUNTS, f"{ALL_SERVICE_ACCOUNTS}:{namespace}")


def service_account_of(user_name: str) -> tuple[str, str] | None:
    """The namespace and name of the service account that a user is, if it is one."""
    if not user_name.startswith(_SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, separator, name = user_name[len(_SERVICE_ACCOUNT_PREFIX) :].partition(":")
    if not separator or names.dns_label(namespace) or names.dns_subdomain(name):
        return None
    return namespace, name


def node_of(user: User) -> str | None:
    """The node that a user is. None: not a node. Empty: one, but nobody can say which."""
    if not user.name.startswith(_NODE_PREFIX) or NODES not in user.groups:
        return None
    return user.name[len(_NODE_PREFIX) :]
