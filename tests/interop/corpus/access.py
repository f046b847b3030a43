"""Who may do what: refusals, roles, impersonation, reviews, tokens and anonymous requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.interop.corpus.kinds import KINDS, cases, sample
from tests.interop.script import ANONYMOUS, APPLY, MERGE, Script

__all__ = ["access"]

# Longer than the real server's authorizer takes to hear of a new rule.
PAUSE = 0.5

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REF = "rbac.authorization.k8s.io"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
OTHER_UID = "00000000-1111-4222-8333-444444444444"


def access() -> Iterator[Script]:
    for name, kind in KINDS.items():
        s = Script(f"refused-{name.replace('.', '-')}")
        item, at = kind.path(s.namespace, "x"), kind.collection(s.namespace)
        who: dict[str, Any] = {"user": "mallory", "groups": ("strangers", "system:authenticated")}
        s.get("get", item, **who)
        s.get("list", at, **who)
        s.get("list everywhere", f"{kind.root}/{kind.plural}", **who)
        s.get("watch", at, query="watch=true", **who)
        s.post("create", at, kind.make("x"), **who)
        s.put("update", item, kind.make("x"), **who)
        s.patch("patch", item, {}, media=MERGE, **who)
        s.patch("apply", item, kind.make("x"), media=APPLY, query="fieldManager=m", **who)
        s.delete("delete", item, **who)
        s.delete("delete all", at, **who)
        s.patch("patch the status", f"{item}/status", {}, media=MERGE, **who)
        s.get("an unknown subresource", f"{item}/poetry", **who)
        yield s
    yield from (_paths(), _roles(), _names(), _groups(), _escalation(), _binding())
    yield from (_impersonation(), _anonymous(), _own_reviews(), _reviews(), _rules())
    yield from (_tokens(), _token_reviews(), _shapes(), _built_in())


def _paths() -> Script:
    s = Script("refused-paths", namespace=False)
    for path in (
        "/",
        "/metrics",
        "/version",
        "/healthz",
        "/livez",
        "/readyz",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/openapi/v3",
        "/openapi/v2",
        "/logs",
        "/nowhere",
        "/apis/none.example.com/v1/things",
        "/api/v1/nothings",
        "/.well-known/openid-configuration",
        "/openid/v1/jwks",
    ):
        s.get(f"{path} as nobody", path, user=ANONYMOUS, keep=("/kind",))
        s.get(
            f"{path} as a stranger",
            path,
            user="mallory",
            groups=("system:authenticated",),
            keep=("/kind",),
        )
        s.get(f"{path} as a stranger outside", path, user="mallory", keep=("/kind",))
    s.post("post to a path", "/metrics", {}, user="mallory")
    s.delete("delete a path", "/healthz", user="mallory")
    return s


def _bind(
    s: Script, role: str, rules: list[dict[str, Any]], subject: dict[str, str], *, title: str = ""
) -> None:
    s.post(
        f"{title}a role {role}",
        f"{RBAC}/namespaces/{s.namespace}/roles",
        {"metadata": {"name": role}, "rules": rules},
    )
    s.post(
        f"{title}a binding {role}",
        f"{RBAC}/namespaces/{s.namespace}/rolebindings",
        {
            "metadata": {"name": role},
            "roleRef": {"apiGroup": REF, "kind": "Role", "name": role},
            "subjects": [subject],
        },
        pause=PAUSE,
    )


def _user(name: str) -> dict[str, str]:
    return {"kind": "User", "name": name, "apiGroup": REF}


def _roles() -> Script:
    s = Script("roles")
    maps, pods = sample("configmaps"), sample("pods")
    _bind(
        s,
        "reader",
        [{"apiGroups": [""], "resources": ["configmaps", "pods/log"], "verbs": ["get", "list"]}],
        _user("roles-reader"),
    )
    who: dict[str, Any] = {"user": "roles-reader"}
    s.post("a map", maps.collection(s.namespace), maps.make("a"))
    s.get("get", maps.path(s.namespace, "a"), **who)
    s.get("list", maps.collection(s.namespace), query="fieldSelector=metadata.name%3Da", **who)
    s.get("list everywhere", "/api/v1/configmaps", **who)
    s.get("list elsewhere", maps.collection("default"), **who)
    s.get("watch", maps.collection(s.namespace), query="watch=true", **who)
    s.post("create", maps.collection(s.namespace), maps.make("b"), **who)
    s.get("a pod", pods.path(s.namespace, "p"), **who)
    s.get("the log of a pod", pods.path(s.namespace, "p", "log"), **who)
    s.get("a secret", f"/api/v1/namespaces/{s.namespace}/secrets/x", **who)
    s.delete("delete", maps.path(s.namespace, "a"), **who)
    _bind(
        s, "star", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}], _user("roles-star")
    )
    star: dict[str, Any] = {"user": "roles-star"}
    s.post("create with all rights", maps.collection(s.namespace), maps.make("c"), **star)
    s.get("a subresource with all rights", pods.path(s.namespace, "ghost", "log"), **star)
    s.get("the cluster with all rights here", "/api/v1/nodes", **star)
    s.get("its namespace", f"/api/v1/namespaces/{s.namespace}", **star)
    _bind(
        s,
        "status",
        [{"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["get", "patch"]}],
        _user("roles-scaler"),
    )
    s.get("any scale", sample("deployments").path(s.namespace, "d", "scale"), user="roles-scaler")
    s.get("no deployment", sample("deployments").path(s.namespace, "d"), user="roles-scaler")
    _bind(
        s,
        "ghost",
        [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        {"kind": "ServiceAccount", "name": "robot", "namespace": s.namespace},
    )
    s.get(
        "as an account",
        pods.path(s.namespace, "p"),
        user=f"system:serviceaccount:{s.namespace}:robot",
    )
    s.get(
        "as an account of elsewhere",
        pods.path(s.namespace, "p"),
        user="system:serviceaccount:other:robot",
    )
    s.post(
        "a binding to no role",
        f"{RBAC}/namespaces/{s.namespace}/rolebindings",
        {
            "metadata": {"name": "dangling"},
            "roleRef": {"apiGroup": REF, "kind": "Role", "name": "none"},
            "subjects": [_user("roles-nobody")],
        },
        pause=PAUSE,
    )
    s.get("by a binding to no role", pods.path(s.namespace, "p"), user="roles-nobody")
    return s


def _names() -> Script:
    s = Script("resource-names")
    maps = sample("configmaps")
    _bind(
        s,
        "one",
        [
            {
                "apiGroups": [""],
                "resources": ["configmaps"],
                "resourceNames": ["mine"],
                "verbs": ["*"],
            }
        ],
        _user("names-one"),
    )
    who: dict[str, Any] = {"user": "names-one"}
    s.post("create", maps.collection(s.namespace), maps.make("mine"), **who)
    s.put("update to create", maps.path(s.namespace, "mine"), maps.make("mine"), **who)
    s.patch(
        "apply to create",
        maps.path(s.namespace, "mine"),
        maps.make("mine"),
        media=APPLY,
        query="fieldManager=m",
        **who,
    )
    s.post("create by the administrator", maps.collection(s.namespace), maps.make("mine"))
    s.get("get", maps.path(s.namespace, "mine"), **who)
    s.get("get another", maps.path(s.namespace, "other"), **who)
    s.get("list", maps.collection(s.namespace), **who)
    s.get(
        "list by name",
        maps.collection(s.namespace),
        query="fieldSelector=metadata.name%3Dmine",
        **who,
    )
    s.get(
        "list by another name",
        maps.collection(s.namespace),
        query="fieldSelector=metadata.name%3Dother",
        **who,
    )
    s.delete("delete all", maps.collection(s.namespace), **who)
    s.delete("delete", maps.path(s.namespace, "mine"), **who)
    return s


def _groups() -> Script:
    s = Script("groups")
    s.post(
        "a cluster role",
        f"{RBAC}/clusterroles",
        {
            "metadata": {"name": "groups-viewer"},
            "rules": [
                {"apiGroups": [""], "resources": ["nodes", "configmaps"], "verbs": ["get", "list"]},
                {"nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get"]},
            ],
        },
    )
    s.post(
        "bound to a group",
        f"{RBAC}/clusterrolebindings",
        {
            "metadata": {"name": "groups-viewers"},
            "roleRef": {"apiGroup": REF, "kind": "ClusterRole", "name": "groups-viewer"},
            "subjects": [{"kind": "Group", "name": "groups-team", "apiGroup": REF}],
        },
        pause=PAUSE,
    )
    s.get(
        "with the group",
        "/api/v1/nodes",
        user="eve",
        groups=("groups-team",),
        query="labelSelector=script%3Dnone",
    )
    s.get("without the group", "/api/v1/nodes", user="eve")
    s.get("a path below", "/logs/x", user="eve", groups=("groups-team",))
    s.get("another path", "/debug", user="eve", groups=("groups-team",))
    s.post(
        "the cluster role, bound here",
        f"{RBAC}/namespaces/{s.namespace}/rolebindings",
        {
            "metadata": {"name": "here"},
            "roleRef": {"apiGroup": REF, "kind": "ClusterRole", "name": "groups-viewer"},
            "subjects": [_user("groups-frank")],
        },
        pause=PAUSE,
    )
    s.get(
        "here",
        f"/api/v1/namespaces/{s.namespace}/configmaps",
        user="groups-frank",
        query="labelSelector=a%3Db",
    )
    s.get("not the cluster", "/api/v1/nodes", user="groups-frank")
    return s


def _escalation() -> Script:
    s = Script("escalation")
    roles = f"{RBAC}/namespaces/{s.namespace}/roles"
    _bind(
        s,
        "editor",
        [
            {
                "apiGroups": [REF],
                "resources": ["roles", "rolebindings"],
                "verbs": ["create", "update", "patch", "get"],
            },
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        ],
        _user("escalation-editor"),
    )
    who: dict[str, Any] = {"user": "escalation-editor"}
    held = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    more = [{"apiGroups": [""], "resources": ["secrets", "pods"], "verbs": ["get", "list"]}]
    s.post("what it holds", roles, {"metadata": {"name": "held"}, "rules": held}, **who)
    s.post("more than it holds", roles, {"metadata": {"name": "more"}, "rules": more}, **who)
    s.patch("widen a role", f"{roles}/held", {"rules": more}, media=MERGE, **who)
    s.patch(
        "label a role", f"{roles}/editor", {"metadata": {"labels": {"a": "b"}}}, media=MERGE, **who
    )
    s.post(
        "more, by the administrator",
        roles,
        {"metadata": {"name": "more"}, "rules": more},
        pause=PAUSE,
    )
    bindings = f"{RBAC}/namespaces/{s.namespace}/rolebindings"
    s.post(
        "bind what it holds",
        bindings,
        {
            "metadata": {"name": "held"},
            "roleRef": {"apiGroup": REF, "kind": "Role", "name": "held"},
            "subjects": [_user("x")],
        },
        **who,
    )
    s.post(
        "bind more than it holds",
        bindings,
        {
            "metadata": {"name": "more"},
            "roleRef": {"apiGroup": REF, "kind": "Role", "name": "more"},
            "subjects": [_user("x")],
        },
        **who,
    )
    s.post(
        "bind a role that does not exist",
        bindings,
        {
            "metadata": {"name": "none"},
            "roleRef": {"apiGroup": REF, "kind": "Role", "name": "none"},
            "subjects": [_user("x")],
        },
        **who,
    )
    return s


def _binding() -> Script:
    s = Script("binding-rules")
    at = f"{RBAC}/namespaces/{s.namespace}/rolebindings"
    ref = {"apiGroup": REF, "kind": "Role", "name": "r"}
    for title, body in cases(
        ("no subjects", {"roleRef": ref}),
        ("no reference", {"subjects": [_user("x")]}),
        ("a reference to a pod", {"roleRef": {**ref, "kind": "Pod"}}),
        ("another group of references", {"roleRef": {**ref, "apiGroup": "example.com"}}),
        ("a reference without a group", {"roleRef": {"kind": "Role", "name": "r"}}),
        ("a user without a group", {"roleRef": ref, "subjects": [{"kind": "User", "name": "x"}]}),
        (
            "an account without a namespace",
            {"roleRef": ref, "subjects": [{"kind": "ServiceAccount", "name": "x"}]},
        ),
        (
            "an account with a group",
            {
                "roleRef": ref,
                "subjects": [
                    {"kind": "ServiceAccount", "name": "x", "namespace": "y", "apiGroup": REF}
                ],
            },
        ),
        ("a subject of another kind", {"roleRef": ref, "subjects": [{"kind": "Pod", "name": "x"}]}),
        ("a subject without a name", {"roleRef": ref, "subjects": [{"kind": "User", "name": ""}]}),
    ):
        s.post(title, at, {"metadata": {"name": title.replace(" ", "-")}, **body})
    for title, rules in cases(
        ("no verbs", [{"apiGroups": [""], "resources": ["pods"]}]),
        ("no groups", [{"resources": ["pods"], "verbs": ["get"]}]),
        ("no resources", [{"apiGroups": [""], "verbs": ["get"]}]),
        ("paths in a namespace", [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]),
        ("nothing", []),
        ("null", None),
    ):
        s.post(
            f"rules: {title}",
            f"{RBAC}/namespaces/{s.namespace}/roles",
            {"metadata": {"name": f"rules-{title.replace(' ', '-')}"}, "rules": rules},
        )
    s.post(
        "aggregation",
        f"{RBAC}/clusterroles",
        {
            "metadata": {"name": "binding-rules-aggregate"},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
        },
    )
    s.post(
        "bad aggregation",
        f"{RBAC}/clusterroles",
        {
            "metadata": {"name": "binding-rules-bad"},
            "aggregationRule": {
                "clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Odd"}]}]
            },
        },
    )
    s.post(
        "empty aggregation",
        f"{RBAC}/clusterroles",
        {"metadata": {"name": "binding-rules-empty"}, "aggregationRule": {}},
    )
    return s


def _impersonation() -> Script:
    s = Script("impersonation")
    whoami = f"{AUTHENTICATION}/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    for title, headers in cases(
        ("a user", {"Impersonate-User": "gina"}),
        ("a user and a group", {"Impersonate-User": "gina", "Impersonate-Group": "g"}),
        ("a uid", {"Impersonate-User": "gina", "Impersonate-Uid": "u-1"}),
        (
            "extra",
            {
                "Impersonate-User": "gina",
                "Impersonate-Extra-Scopes": "view",
                "Impersonate-Extra-example.com%2Fkey": "v",
            },
        ),
        ("a group alone", {"Impersonate-Group": "g"}),
        ("an account", {"Impersonate-User": f"system:serviceaccount:{s.namespace}:default"}),
        ("anonymous", {"Impersonate-User": "system:anonymous"}),
        ("a node", {"Impersonate-User": "system:node:x", "Impersonate-Group": "system:nodes"}),
        ("an empty user", {"Impersonate-User": ""}),
    ):
        s.post(title, whoami, body, headers=headers)
    s.post("itself", whoami, body, keep=("/kind", "/apiVersion"))
    account = f"/api/v1/namespaces/{s.namespace}/serviceaccounts/default/token"
    s.post("a token", account, {}, save={"token": "status.token"}, pause=PAUSE)
    bearer = {"Authorization": "Bearer ${token}"}
    s.post("who the token is", whoami, body, headers=bearer)
    s.post(
        "impersonate without a right", whoami, body, headers={**bearer, "Impersonate-User": "gina"}
    )
    s.post(
        "impersonate a group without a right",
        whoami,
        body,
        headers={**bearer, "Impersonate-User": "gina", "Impersonate-Group": "g"},
    )
    s.get("read without a right", f"/api/v1/namespaces/{s.namespace}/pods", headers=bearer)
    s.post(
        "a role to impersonate",
        f"{RBAC}/clusterroles",
        {
            "metadata": {"name": "impersonation"},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["users"],
                    "verbs": ["impersonate"],
                    "resourceNames": ["gina"],
                }
            ],
        },
    )
    s.post(
        "bind it",
        f"{RBAC}/clusterrolebindings",
        {
            "metadata": {"name": "impersonation"},
            "roleRef": {"apiGroup": REF, "kind": "ClusterRole", "name": "impersonation"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": s.namespace}],
        },
        pause=PAUSE,
    )
    s.post("impersonate with a right", whoami, body, headers={**bearer, "Impersonate-User": "gina"})
    s.post("impersonate another", whoami, body, headers={**bearer, "Impersonate-User": "hugo"})
    s.post(
        "impersonate with a group too",
        whoami,
        body,
        headers={**bearer, "Impersonate-User": "gina", "Impersonate-Group": "system:masters"},
    )
    return s


def _anonymous() -> Script:
    s = Script("anonymous", namespace=False)
    s.get("pods", "/api/v1/pods", user=ANONYMOUS)
    s.post(
        "who it is",
        f"{AUTHENTICATION}/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
        user=ANONYMOUS,
    )
    for title, value in cases(
        ("a bad token", "Bearer nonsense"),
        ("half a token", "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln"),
        ("no token", "Bearer "),
        ("another scheme", "Basic dTpw"),
        ("nonsense", "nonsense"),
    ):
        s.get(title, "/api/v1/pods", headers={"Authorization": value})
        s.get(
            f"{title}, asking for the version",
            "/version",
            headers={"Authorization": value},
            keep=("/major",),
        )
    return s


def _attributes(**attributes: Any) -> dict[str, Any]:
    return {"resourceAttributes": attributes}


def _own_reviews() -> Script:
    s = Script("own-reviews")
    at = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    _bind(
        s,
        "reader",
        [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
        _user("reviews-iris"),
    )

    def review(spec: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": spec,
        }

    for title, spec in cases(
        ("allowed", _attributes(namespace=s.namespace, verb="get", resource="configmaps")),
        (
            "by name",
            _attributes(namespace=s.namespace, verb="get", resource="configmaps", name="x"),
        ),
        ("another verb", _attributes(namespace=s.namespace, verb="list", resource="configmaps")),
        ("everywhere", _attributes(verb="get", resource="configmaps")),
        ("all verbs", _attributes(namespace=s.namespace, verb="*", resource="*", group="*")),
        (
            "a subresource",
            _attributes(namespace=s.namespace, verb="get", resource="pods", subresource="log"),
        ),
        ("a path", {"nonResourceAttributes": {"path": "/openapi/v3", "verb": "get"}}),
        ("another path", {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}),
        (
            "both",
            {**_attributes(verb="get"), "nonResourceAttributes": {"path": "/", "verb": "get"}},
        ),
        ("neither", {}),
        (
            "a field selector",
            _attributes(
                namespace=s.namespace,
                verb="list",
                resource="configmaps",
                fieldSelector={"rawSelector": "metadata.name=x"},
            ),
        ),
    ):
        s.post(title, at, review(spec), user="reviews-iris", groups=("system:authenticated",))
        s.post(f"{title}, by the administrator", at, review(spec))
    s.post(
        "another kind",
        at,
        {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {}},
        user="reviews-iris",
        groups=("system:authenticated",),
    )
    s.get("a review cannot be read", at)
    s.post("nothing", at, {})
    s.post("without the group of all", at, review({}), user="reviews-iris")
    return s


def _reviews() -> Script:
    s = Script("reviews")
    _bind(
        s,
        "reader",
        [
            {
                "apiGroups": ["apps"],
                "resources": ["deployments"],
                "verbs": ["get", "list"],
                "resourceNames": ["web"],
            }
        ],
        _user("reviews-jack"),
    )
    at = f"{AUTHORIZATION}/subjectaccessreviews"
    local = f"{AUTHORIZATION}/namespaces/{s.namespace}/localsubjectaccessreviews"
    wanted = _attributes(
        namespace=s.namespace, verb="get", group="apps", resource="deployments", name="web"
    )
    for title, spec in cases(
        ("allowed", {"user": "reviews-jack", **wanted}),
        ("not allowed", {"user": "reviews-karl", **wanted}),
        ("by group", {"groups": ["system:masters"], **wanted}),
        ("nobody", wanted),
        (
            "a node",
            {
                "user": "system:node:n1",
                "groups": ["system:nodes"],
                **_attributes(verb="get", resource="secrets", namespace="x", name="y"),
            },
        ),
        ("extra", {"user": "reviews-jack", "extra": {"a": ["b"]}, "uid": "u", **wanted}),
        (
            "a path",
            {"user": "reviews-jack", "nonResourceAttributes": {"path": "/version", "verb": "get"}},
        ),
    ):
        s.post(
            title,
            at,
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec},
        )
        s.post(
            f"{title}, here",
            local,
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "LocalSubjectAccessReview",
                "metadata": {"namespace": s.namespace},
                "spec": spec,
            },
        )
    s.post(
        "of another namespace, here",
        local,
        {"spec": {"user": "x", **_attributes(namespace="other", verb="get", resource="pods")}},
    )
    s.post("without a right", at, {"spec": {"user": "x", **wanted}}, user="reviews-jack")
    return s


def _rules() -> Script:
    s = Script("rules-reviews")
    _bind(
        s,
        "r",
        [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
            {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]},
        ],
        _user("rules-lena"),
    )
    at = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    s.post(
        "its rules",
        at,
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": s.namespace},
        },
        user="rules-lena",
    )
    s.post("of no namespace", at, {"spec": {}}, user="rules-lena", groups=("system:authenticated",))
    return s


def _tokens() -> Script:
    s = Script("tokens")
    at = f"/api/v1/namespaces/{s.namespace}/serviceaccounts"
    pods = sample("pods").collection(s.namespace)
    s.post(
        "a pod",
        pods,
        {
            "metadata": {"name": "p"},
            "spec": {"nodeName": "n1", "containers": [{"name": "a", "image": "x"}]},
        },
        save={"uid": "metadata.uid"},
    )
    for title, spec in cases(
        ("defaults", {}),
        ("an audience", {"audiences": ["vault"], "expirationSeconds": 1200}),
        ("too short", {"expirationSeconds": 5}),
        ("too long", {"expirationSeconds": 4294967297}),
        (
            "bound",
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "${uid}"}},
        ),
        (
            "bound by name alone",
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}},
        ),
        (
            "bound to another uid",
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": OTHER_UID}},
        ),
        (
            "bound to nothing",
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "ghost"}},
        ),
        (
            "bound to a map",
            {"boundObjectRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "m"}},
        ),
    ):
        s.post(
            title,
            f"{at}/default/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec},
        )
    s.post("of nobody", f"{at}/ghost/token", {"spec": {}})
    s.post("of another name", f"{at}/default/token", {"metadata": {"name": "other"}, "spec": {}})
    s.post("of another kind", f"{at}/default/token", {"kind": "Pod", "apiVersion": "v1"})
    s.get("a token cannot be read", f"{at}/default/token")
    s.post("without a right", f"{at}/default/token", {"spec": {}}, user="mallory")
    return s


def _token_reviews() -> Script:
    s = Script("token-reviews")
    reviews = f"{AUTHENTICATION}/tokenreviews"
    whoami = f"{AUTHENTICATION}/selfsubjectreviews"
    accounts = f"/api/v1/namespaces/{s.namespace}/serviceaccounts"
    pods = sample("pods").collection(s.namespace)
    s.post(
        "a pod",
        pods,
        {
            "metadata": {"name": "p"},
            "spec": {"nodeName": "n1", "containers": [{"name": "a", "image": "x"}]},
        },
    )
    s.post("a token", f"{accounts}/default/token", {"spec": {}}, save={"plain": "status.token"})
    s.post(
        "a token for others",
        f"{accounts}/default/token",
        {"spec": {"audiences": ["vault"]}},
        save={"vault": "status.token"},
    )
    bound = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}}
    for name, spec in cases(("late", bound), ("later", {})):
        s.post(
            f"a token for {name}",
            f"{accounts}/default/token",
            {"spec": spec},
            save={name: "status.token"},
        )
    s.post(
        "a token of a pod",
        f"{accounts}/default/token",
        {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}}},
        save={"bound": "status.token"},
        pause=PAUSE,
    )

    def review(title: str, **spec: Any) -> None:
        s.post(
            title,
            reviews,
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec},
        )

    review("a good token", token="${plain}")
    review("for an audience it is not for", token="${plain}", audiences=["vault"])
    review("for its audience", token="${vault}", audiences=["vault"])
    review("for another audience", token="${vault}")
    review("of a pod", token="${bound}")
    review("nonsense", token="nonsense")
    review("nothing", token="")
    s.post("use it", whoami, {}, headers={"Authorization": "Bearer ${bound}"})
    s.post("use it for others", whoami, {}, headers={"Authorization": "Bearer ${vault}"})
    s.delete("delete the pod", f"{pods}/p", {"gracePeriodSeconds": 0}, pause=PAUSE)
    review("of a pod that is gone", token="${late}")
    s.delete("delete the account", f"{accounts}/default", pause=PAUSE)
    review("of an account that is gone", token="${later}")
    s.post(
        "use it, of an account that is gone",
        whoami,
        {},
        headers={"Authorization": "Bearer ${later}"},
    )
    s.post("without a right", reviews, {"spec": {"token": "x"}}, user="mallory")
    return s


def _shapes() -> Script:
    s = Script("review-shapes", namespace=False)
    for path in (
        f"{AUTHENTICATION}/tokenreviews",
        f"{AUTHENTICATION}/selfsubjectreviews",
        f"{AUTHORIZATION}/selfsubjectaccessreviews",
        f"{AUTHORIZATION}/subjectaccessreviews",
        f"{AUTHORIZATION}/selfsubjectrulesreviews",
    ):
        name = path.rsplit("/", 1)[1]
        s.send(f"{name}: not JSON", "POST", path, text="{")
        s.send(f"{name}: another kind", "POST", path, {"kind": "Pod", "apiVersion": "v1"})
        s.send(f"{name}: a wrong type", "POST", path, {"spec": "x"})
        s.send(
            f"{name}: with a name",
            "POST",
            path,
            {"metadata": {"name": "x"}, "spec": {}},
            user="system:admin",
            groups=("system:masters",),
        )
        s.send(
            f"{name}: rehearsed",
            "POST",
            path,
            {"spec": {}},
            query="dryRun=All",
            user="system:admin",
            groups=("system:masters",),
        )
        s.send(f"{name}: deleted", "DELETE", path)
        s.send(f"{name}: updated", "PUT", f"{path}/x", {})
    return s


def _built_in() -> Script:
    s = Script("built-in-roles", namespace=False)
    for name in (
        "cluster-admin",
        "system:basic-user",
        "system:discovery",
        "system:public-info-viewer",
    ):
        s.get(
            f"role {name}",
            f"{RBAC}/clusterroles/{name}",
            keep=("/metadata/name", "/metadata/labels", "/metadata/annotations", "/rules"),
        )
        s.get(
            f"binding {name}",
            f"{RBAC}/clusterrolebindings/{name}",
            keep=(
                "/metadata/name",
                "/metadata/labels",
                "/metadata/annotations",
                "/roleRef",
                "/subjects",
            ),
        )
    for name in ("admin", "edit", "view", "system:node", "system:kube-scheduler"):
        s.get(
            f"role {name} is there",
            f"{RBAC}/clusterroles/{name}",
            keep=("/metadata/name", "/metadata/labels"),
        )
    return s
