"""Pod specs at random: mostly right, each field wrong now and then.

A Draw carries how often things go wrong. With none of it a spec is valid as far as its fields do
not depend on each other; with much of it many rules are broken at once, so that their order shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from tests.conformance.generate.case import Request, chance

Item = TypeVar("Item")

NAMES = ("a", "b", "c", "A", "a.b", "", "x" * 64, "a_b", "-a", "c0", "i1")
QUANTITIES = (
    "1", "2", "0", "1.5", "100m", "-1", "1Gi", "2Mi", "3Mi", "4Mi", "1e3", "1u", "-500m", "1n",
    "0.0001", "9223372036854775807", "1e30",
)  # fmt: skip
RESOURCES = (
    "cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi", "nvidia.com/gpu",
    "example.com/foo", "deviceclass.resource.kubernetes.io/gpu",
)  # fmt: skip
ODD_RESOURCES = (
    "foo", "storage", "pods", "requests.cpu", "requests.example.com/foo", "a/b/c",
    "kubernetes.io/x",
    "/x", "hugepages-", "hugepages-3", "hugepages-0", "hugepages--2Mi", "UP.com/x", "",
    "example.com/" + "x" * 64, "count/pods", "requests.hugepages-2Mi",
)  # fmt: skip
IMAGES = (
    "app:1",
    "app",
    "app:latest",
    "registry:5000/app",
    "app@sha256:" + "a" * 64,
    "Not an image",
)
ODD_IMAGES = ("", " app", "app ", "\tapp", "app\u2003")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Is", "")
KEYS, ODD_KEYS = ("app", "k", "a/b"), ("A!", "", "a/b/c")
VALUES, ODD_VALUES = ("x", "y", ""), ("B!", "x" * 64)


@dataclass(frozen=True)
class Draw:
    """A source of chance, and how likely each value is wrong."""

    random: Random
    wrong: float

    def often(self, probability: float) -> bool:
        return chance(self.random, probability)

    def amiss(self) -> bool:
        return chance(self.random, self.wrong)

    def one(self, good: Sequence[Item], odd: Sequence[Item] = ()) -> Item:
        return self.random.choice(odd if odd and self.amiss() else good)

    def several(self, make: Callable[[], Item], counts: Sequence[int] = (1, 2)) -> list[Item]:
        return [make() for _ in range(self.random.choice(counts))]

    def fields(self, **makers: tuple[float, Callable[[], Any]]) -> Request:
        """Each field with its probability."""
        return {name: make() for name, (share, make) in makers.items() if self.often(share)}


def amounts(draw: Draw) -> Request:
    names = draw.several(lambda: draw.one(RESOURCES, ODD_RESOURCES), (1, 1, 2, 3))
    return {name: draw.one(("1", "2", "3"), QUANTITIES) for name in names}


def picks(draw: Draw) -> list[Request]:
    def pick() -> Request:
        request = draw.one(("", "", "r1", "r2"), ("R", "r/s", "x" * 64))
        name = draw.one(("a", "b", "c"), NAMES)
        return {"name": name, "request": request} if request else {"name": name}

    return draw.several(pick, (1, 2, 3))


def resources(draw: Draw, *, claims: float = 0.4) -> Request:
    found = draw.fields(
        limits=(0.6, lambda: amounts(draw)),
        requests=(0.6, lambda: amounts(draw)),
        claims=(claims, lambda: picks(draw)),
    )
    if "limits" in found and "requests" in found and draw.often(0.5):
        for name, limit in found["limits"].items():
            found["requests"][name] = draw.one((limit,), QUANTITIES)
    return found


def container(draw: Draw, default_name: str) -> Request:
    odd = draw.wrong

    def rule() -> Request:
        codes = {"operator": draw.one(("In", "NotIn"), ("X",)), "values": [1, 3]}
        return {
            "action": draw.one(("Restart", "RestartAllContainers"), ("Stop", "")),
            **draw.fields(exitCodes=(0.9, lambda: codes)),
        }

    def resize() -> Request:
        return {
            "resourceName": draw.one(("cpu", "memory"), ("foo", "")),
            "restartPolicy": draw.one(("NotRequired", "RestartContainer"), ("X", "")),
        }

    return {
        "name": draw.one((default_name,), NAMES),
        "image": draw.one(IMAGES, ODD_IMAGES),
        **draw.fields(
            resources=(0.7, lambda: resources(draw)),
            imagePullPolicy=(odd, lambda: draw.one(("Always", "Never"), ("Foo",))),
            terminationMessagePolicy=(odd, lambda: draw.one(("File",), ("Foo",))),
            restartPolicy=(odd, lambda: draw.one(("Always", "Never", "OnFailure"), ("X", ""))),
            restartPolicyRules=(odd, lambda: draw.several(rule, (1, 2, 21))),
            resizePolicy=(odd, lambda: draw.several(resize)),
        ),
    }


def selector(draw: Draw) -> Request:
    return draw.fields(
        matchLabels=(0.6, lambda: {draw.one(KEYS, ODD_KEYS): draw.one(VALUES, ODD_VALUES)}),
        matchExpressions=(0.5, lambda: [requirement(draw)]),
    )


def requirement(draw: Draw, keys: Sequence[str] = KEYS) -> Request:
    return {
        "key": draw.one(keys, (*ODD_KEYS, "metadata.name", "metadata.uid")),
        "operator": draw.one(("In", "Exists"), OPERATORS),
        **draw.fields(values=(0.7, lambda: draw.several(lambda: draw.one(VALUES, ODD_VALUES)))),
    }


def node_term(draw: Draw) -> Request:
    named = ("metadata.name",)
    return draw.fields(
        matchExpressions=(0.7, lambda: draw.several(lambda: requirement(draw))),
        matchFields=(0.3, lambda: [requirement(draw, named)]),
    )


def pod_term(draw: Draw) -> Request:
    def keys() -> list[str]:
        return draw.several(lambda: draw.one(KEYS, ODD_KEYS))

    return {
        "topologyKey": draw.one(("zone",), ("", "A!")),
        **draw.fields(
            labelSelector=(0.7, lambda: selector(draw)),
            namespaceSelector=(0.2, lambda: selector(draw)),
            namespaces=(0.2, lambda: [draw.one(("n",), ("N!", "a.b"))]),
            matchLabelKeys=(0.3, keys),
            mismatchLabelKeys=(0.2, keys),
        ),
    }


def affinity(draw: Draw) -> Request:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"

    def weighted(name: str, make: Callable[[Draw], Request]) -> list[Request]:
        return [{"weight": draw.one((1, 100), (0, 101, -1)), name: make(draw)}]

    def nodes() -> Request:
        terms = draw.several(lambda: node_term(draw), (0,) if draw.amiss() else (1, 2))
        return draw.fields(
            **{
                required: (0.7, lambda: {"nodeSelectorTerms": terms}),
                preferred: (0.4, lambda: weighted("preference", node_term)),
            }
        )

    def pods() -> Request:
        return draw.fields(
            **{
                required: (0.6, lambda: [pod_term(draw)]),
                preferred: (0.6, lambda: weighted("podAffinityTerm", pod_term)),
            }
        )

    return draw.fields(
        nodeAffinity=(0.6, nodes), podAffinity=(0.3, pods), podAntiAffinity=(0.3, pods)
    )


def toleration(draw: Draw) -> Request:
    return draw.fields(
        key=(0.8, lambda: draw.one(KEYS, ODD_KEYS)),
        operator=(0.7, lambda: draw.one(("Exists", "Equal"), ("Lt", "Gt", "X", ""))),
        value=(0.4, lambda: draw.one(("v", "1"), ("V!", "01", "-5", "9" * 20, "x" * 64))),
        effect=(0.5, lambda: draw.one(("NoExecute", "NoSchedule"), ("X", ""))),
        tolerationSeconds=(0.3, lambda: 5),
    )


def spread(draw: Draw) -> Request:
    return {
        "maxSkew": draw.one((1, 2), (0, -1)),
        "topologyKey": draw.one(("zone", "host"), ("",)),
        "whenUnsatisfiable": draw.one(("DoNotSchedule", "ScheduleAnyway"), ("X", "")),
        **draw.fields(
            labelSelector=(0.4, lambda: selector(draw)),
            minDomains=(0.3, lambda: draw.one((1, 3), (0, -1))),
            nodeAffinityPolicy=(0.2, lambda: draw.one(("Honor", "Ignore"), ("X", ""))),
            nodeTaintsPolicy=(0.2, lambda: draw.one(("Honor", "Ignore"), ("X", ""))),
            matchLabelKeys=(0.3, lambda: draw.several(lambda: draw.one(KEYS, ODD_KEYS))),
        ),
    }


def claims(draw: Draw) -> list[Request]:
    found = []
    for name in draw.random.sample(("a", "b", "c"), draw.random.choice((1, 2, 3))):
        source = draw.one(("resourceClaimName", "resourceClaimTemplateName"), ("x",))
        claim = {"name": draw.one((name,), NAMES)}
        if source != "x":
            claim[source] = draw.one(("my-claim", "a.b"), ("", "A", "x" * 254))
        if draw.often(draw.wrong / 2):
            claim["resourceClaimName"] = "z"
        found.append(claim)
    return found


def spec(draw: Draw) -> Request:
    """A spec of everything that is checked."""
    numbers = (0,) if draw.often(draw.wrong / 2) else (1, 2)
    count = draw.random.choice(numbers)
    return {
        "containers": [container(draw, f"c{number}") for number in range(count)],
        **draw.fields(
            initContainers=(0.4, lambda: [container(draw, "i1"), container(draw, "i2")]),
            ephemeralContainers=(draw.wrong / 3, lambda: [ephemeral(draw)]),
            resourceClaims=(0.6, lambda: claims(draw)),
            resources=(0.25, lambda: resources(draw, claims=draw.wrong)),
            affinity=(0.2, lambda: affinity(draw)),
            tolerations=(0.2, lambda: draw.several(lambda: toleration(draw))),
            topologySpreadConstraints=(0.15, lambda: draw.several(lambda: spread(draw))),
            overhead=(0.1, lambda: amounts(draw)),
        ),
        **settings(draw),
    }


def ephemeral(draw: Draw) -> Request:
    target = draw.one(("c0", "i1"), ("nobody",))
    return {**container(draw, "debug"), "targetContainerName": target}


def settings(draw: Draw) -> Request:
    """The fields of a spec that are one value each."""

    def named(*odd: str) -> Callable[[], str]:
        return lambda: draw.one(("name",), odd or ("N!",))

    return draw.fields(
        restartPolicy=(0.2, lambda: draw.one(("Always", "Never", "OnFailure"), ("X",))),
        dnsPolicy=(0.1, lambda: draw.one(("Default",), ("X",))),
        nodeSelector=(0.15, lambda: {draw.one(KEYS, ODD_KEYS): draw.one(VALUES, ODD_VALUES)}),
        nodeName=(0.15, named()),
        schedulingGates=(0.15, lambda: [{"name": draw.one(KEYS, ODD_KEYS)} for _ in range(2)]),
        readinessGates=(0.1, lambda: [{"conditionType": draw.one(KEYS, ODD_KEYS)}]),
        activeDeadlineSeconds=(0.1, lambda: draw.one((1, 10), (0, -1, 2**31))),
        terminationGracePeriodSeconds=(0.1, lambda: draw.one((0, 1, 30), (-1, -5))),
        priorityClassName=(0.1, named()),
        preemptionPolicy=(0.1, lambda: draw.one(("Never",), ("X", ""))),
        serviceAccountName=(0.1, named()),
        serviceAccount=(0.05, named("other", "S!")),
        hostname=(0.1, named("H!", "a.b")),
        subdomain=(0.1, named()),
        runtimeClassName=(0.1, named("H!", "")),
        os=(0.05, lambda: {"name": draw.one(("linux",), ("", "plan9"))}),
        schedulingGroup=(0.05, lambda: draw.one(({"podGroupName": "g"},), ({},))),
        hostnameOverride=(0.05, named("H!", "", "a" * 65)),
        hostNetwork=(0.05, lambda: True),
        setHostnameAsFQDN=(0.05, lambda: True),
        shareProcessNamespace=(0.05, lambda: True),
        hostPID=(0.05, lambda: True),
    )
