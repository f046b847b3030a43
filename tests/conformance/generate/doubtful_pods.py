"""Valid pods about which there is something to say."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.generate.case import Request
from tests.conformance.generate.parts import ALIASES, FILES, PROJECTIONS, pod


def doubtful() -> Iterator[tuple[str, Request]]:
    for label, spec in (
        ("node selector", {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}),
        ("topology", {"topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "failure-domain.beta.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
        }]}),
        ("affinity", {"affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "Exists"}]}
                ]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {
                    "matchExpressions": [
                        {"key": "node-role.kubernetes.io/master", "operator": "In", "values": ["-"]}
                    ]
                }}],
            },
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "k"}
            ]},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "k"}}
            ]},
        }}),
        ("aliases", {"hostAliases": [ALIASES[0], ALIASES[0], {"ip": "2001:DB8::0"}]}),
        ("pull secrets", {"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]}),
        ("overhead", {"overhead": {"memory": "1.5", "ephemeral-storage": "100m"}}),
        ("grace", {"terminationGracePeriodSeconds": -1}),
        ("nameservers", {"dnsConfig": {"nameservers": ["2001:db8:0::1"]}}),
        ("same files", {"volumes": [
            {"name": "c", "configMap": {"name": "c", "items": [
                {"key": "a", "path": "p"}, {"key": "b", "path": "p/q"}, {"key": "c", "path": "pq"},
                {"key": "d", "path": "p/"},
            ]}},
            {"name": "s", "secret": {"secretName": "s", "items": [
                {"key": "a", "path": "p"}, {"key": "b", "path": "p"},
            ]}},
            {"name": "d", "downwardAPI": {"items": [FILES[0], FILES[0]]}},
            {"name": "p", "projected": {"sources": [
                PROJECTIONS[1],
                {"secret": {"name": "s", "items": [{"key": "a", "path": "c"}]}},
                {"secret": {"name": "s"}},
                {},
                {"serviceAccountToken": {"path": "c/a/token"}},
                {"clusterTrustBundle": {"name": "b", "path": "c/b"}},
            ]}},
            {"name": "q", "projected": {"sources": [
                PROJECTIONS[6], {"downwardAPI": {"items": [{**FILES[0], "path": "key/a"}]}},
            ]}},
        ]}),
        ("fractional claim", {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1.5"}, "limits": {"storage": "100m"}},
            }
        }}}]}),
    ):  # fmt: skip
        yield f"doubtful {label}", pod(**spec)
    for label, container in (
        ("fractions", {"resources": {
            "limits": {"memory": "1.5", "ephemeral-storage": "2.5"},
            "requests": {"memory": "0.5", "ephemeral-storage": "1.5"},
        }}),
        ("variables", {"env": [
            {"name": "A", "value": "1"}, {"name": "A", "value": "$(A)"},
            {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "3"},
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ]}),
        ("ports", {"ports": [
            {"containerPort": 80}, {"containerPort": 80}, {"containerPort": 80, "hostPort": 1},
            {"containerPort": 80, "hostPort": 1, "hostIP": "10.0.0.1"},
            {"containerPort": 80, "hostPort": 2}, {"containerPort": 81, "hostIP": "10.0.0.1"},
        ]}),
    ):  # fmt: skip
        yield f"doubtful {label}", pod(container)
    named = {"ports": [{"name": "web", "containerPort": 80}]}
    root = pod(named)
    root["spec"]["containers"].append({"name": "other", "image": "i", **named})
    yield "doubtful port names", root
    root = pod()
    root["metadata"]["annotations"] = {
        "scheduler.alpha.kubernetes.io/critical-pod": "",
        "security.alpha.kubernetes.io/sysctls": "",
        "security.alpha.kubernetes.io/unsafe-sysctls": "",
    }
    yield "doubtful annotations", root
    armor = "container.apparmor.security.beta.kubernetes.io/main"
    for profile in ("runtime/default", "localhost/p", "unconfined"):
        template = {
            "metadata": {"labels": {"a": "b"}, "annotations": {armor: profile}},
            "spec": pod(securityContext={"appArmorProfile": {"type": "RuntimeDefault"}})["spec"],
        }
        yield (
            f"doubtful profile {profile}",
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {"name": "workload", "namespace": "default"},
                "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
            },
        )
