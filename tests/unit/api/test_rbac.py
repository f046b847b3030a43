"""Roles and their bindings, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.rbac import (
    ClusterRole,
    ClusterRoleBinding,
    ClusterRoleBindingList,
    ClusterRoleList,
    Role,
    RoleBinding,
    RoleBindingList,
    RoleList,
)
from tests.unit.api.core.golden import METADATA, SELECTOR, Document, KindSuite

API_VERSION = "rbac.authorization.k8s.io/v1"

RULES: list[Document] = [
    {
        "verbs": ["get", "list"],
        "apiGroups": ["", "resource.k8s.io"],
        "resources": ["resourceclaims/status"],
        "resourceNames": ["training"],
    },
    {"verbs": ["get"], "nonResourceURLs": ["/healthz*"]},
]

SUBJECTS: list[Document] = [
    {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ada"},
    {"kind": "ServiceAccount", "name": "trainer", "namespace": "research"},
]

ROLE_REF: Document = {
    "apiGroup": "rbac.authorization.k8s.io",
    "kind": "ClusterRole",
    "name": "view",
}

NO_ROLE: Document = {"apiGroup": "", "kind": "", "name": ""}


class TestRole(KindSuite):
    kind = Role
    list_kind = RoleList
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "Role",
        "metadata": METADATA,
        "rules": RULES,
    }
    empty: ClassVar[Document] = {"rules": None}


class TestClusterRole(KindSuite):
    kind = ClusterRole
    list_kind = ClusterRoleList
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "ClusterRole",
        "metadata": METADATA,
        "rules": RULES,
        "aggregationRule": {"clusterRoleSelectors": [SELECTOR]},
    }
    empty: ClassVar[Document] = {"rules": None}


class TestRoleBinding(KindSuite):
    kind = RoleBinding
    list_kind = RoleBindingList
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "RoleBinding",
        "metadata": METADATA,
        "subjects": SUBJECTS,
        "roleRef": ROLE_REF,
    }
    empty: ClassVar[Document] = {"roleRef": NO_ROLE}


class TestClusterRoleBinding(KindSuite):
    kind = ClusterRoleBinding
    list_kind = ClusterRoleBindingList
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "ClusterRoleBinding",
        "metadata": METADATA,
        "subjects": SUBJECTS,
        "roleRef": ROLE_REF,
    }
    empty: ClassVar[Document] = {"roleRef": NO_ROLE}
