"""Label and field selectors as text and as objects, with label maps to try them on."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.conformance.generate.case import Request, chance, some, unique
from tests.conformance.generate.versions import GROUP, SERVED

LABEL_TEXTS = 1_400
LABEL_OBJECTS = 600
FIELD_TEXTS = 700

KEYS = ("a", "b", "app", "tier", "example.com/x", "kubernetes.io/os", "x.y", "A_b")
VALUES = ("", "1", "2", "10", "-3", "x", "web", "a.b", "A-b_c", "true")
BAD_KEYS = ("", "-a", "a b", "/a", "a/", "a/b/c", "é", "A/b", "a" * 64, "_", "a,b")
BAD_VALUES = ("-", "a b", "é", "x" * 64, "a/b", ".x", "x.", "a=b", "(", ")", "!")
FIELD_KEYS = ("metadata.name", "metadata.namespace", "spec.nodeName", "spec.driver", "a", "a.b")

LABEL_SEEDS = (
    "", " ", ",", ",,", "a", "!a", "! a", "!!a", "a=", "a==", "a!=", "a=1", "a==1", "a!=1", "a===1",
    "a=1=2", "a = 1", " a = 1 ", "a=1,", ",a=1", "a=1,,b=2", "a=1,b=2", "b=2,a=1", "a=1,a=2",
    "a in", "a in ()", "a in (,)", "a in (1)", "a in (1,2)", "a in (2,1)", "a in (1,1)",
    "a in (1, 2 )", "a in(1)", "a in (1", "a in 1)", "a in 1", "a in (,1)", "a in (1,)",
    "a in (1,,2)",
    "a notin (1)", "a notin ()", "a notin (1,2),b", "a not in (1)", "a IN (1)", "in in (in)",
    "notin", "in",
    "!in", "in=1", "a=in", "a=notin", "a>1", "a<1", "a > 1", "a>", "a>x", "a<-3", "a>=1", "a<=1",
    "a=>1", "a><1", "a>1,a<10", "a!1", "a!", "a=!b", "(a)", "a=(1)", "a=1 b=2", "a b", "a,b,!c",
    "a=1\t,b=2", "a=1\n", "é=1", "a=é", "a='1'", 'a="1"', "a=a/b", "x/y=1", "x/y/z=1", "/y=1",
    "x/=1",
    "a=-1", "a=.1", "a=1.", "-a=1", "a=1;b=2", "a=1&b=2", "a=1|b=2", "a@b", "a=b@c", "\\a", "a=\\,",
    "a,!a",
)  # fmt: skip

FIELD_SEEDS = (
    "", " ", ",", "a", "a=", "a=b", "a==b", "a!=b", "=b", "!=b", "==b", "a=b=c", "a==b=c", "a!=b=c",
    "a=b,c=d", "c=d,a=b", "a=b,", ",a=b", "a=b,,c=d", "a = b", " a=b ", "a= b", "a =b", "a!b", "!a",
    "a in (b)", "a>b", "a=b\\,c", "a=b\\=c", "a=b\\\\c", "a=b\\", "a=b\\x", "a=b\\!c", "a\\=b=c",
    "a=\\,", "a=\\=", "a=\\\\", "a=\\\\,b=c", "a=b\\,c,d=e", "a==b,c!=d", "a=b,a=c", "a=é",
    "é=a", "a===b", "a!==b", "a=!b", "a!=", "a==", "metadata.name=x", "metadata.name!=x",
    "spec.nodeName=n,metadata.name=x", "metadata.name=", "spec.nodeName!=", "a=b c", "a=\t", "a=\n",
)  # fmt: skip


def labels(random: Random) -> Iterator[Request]:
    """`LABEL_TEXTS` selectors in query form, then `LABEL_OBJECTS` in object form."""
    asked = unique(
        {"op": "labelSelector", "text": text, "labels": _label_maps(random)}
        for text in _label_texts(random)
    )
    for _ in range(LABEL_TEXTS):
        yield next(asked)
    yield {"op": "labelSelector", "labels": [{}, {"a": "1"}]}
    asked = unique(_label_objects(random))
    for _ in range(LABEL_OBJECTS):
        yield next(asked)


def fields(random: Random) -> Iterator[Request]:
    asked = unique(
        {"op": "fieldSelector", "text": text, "fields": _field_maps(random)}
        for text in _field_texts(random)
    )
    for _ in range(FIELD_TEXTS):
        yield next(asked)


def field_labels(random: Random) -> Iterator[Request]:
    """Every field anyone might select by, of every kind and version."""
    kinds = [(f"{GROUP}/{version}", kind) for kind, served in SERVED.items() for version in served]
    for version, kind in (*kinds, ("v1", "Pod")):
        for label in ("metadata.name", "metadata.namespace", "spec.nodeName", "spec.driver",
                      "spec.pool.name", "status.phase", "spec.deviceClassName", "name",
                      ""):  # fmt: skip
            value = random.choice(("x", "", "a,b"))
            yield {
                "op": "fieldLabel",
                "apiVersion": version,
                "kind": kind,
                "label": label,
                "value": value,
            }


def _label_texts(random: Random) -> Iterator[str]:
    yield from LABEL_SEEDS
    while True:
        text = ",".join(_label_term(random) for _ in range(random.randint(1, 3)))
        yield _garbled(random, text, "=!<>(), inot\\") if chance(random, 0.2) else text


def _label_term(random: Random) -> str:
    key = random.choice(BAD_KEYS if chance(random, 0.05) else KEYS)
    space = random.choice(("", "", " "))
    operator = random.choice(("=", "==", "!=", "in", "notin", ">", "<", "", "!"))
    if operator == "":
        return key
    if operator == "!":
        return f"!{space}{key}"
    if operator in ("in", "notin"):
        values = [_value(random) for _ in range(random.randint(0, 3))]
        return f"{key} {operator}{space}({f',{space}'.join(values)})"
    return f"{key}{space}{operator}{space}{_value(random)}"


def _value(random: Random) -> str:
    return random.choice(BAD_VALUES if chance(random, 0.06) else VALUES)


def _label_maps(random: Random) -> list[dict[str, str]]:
    return [
        {key: random.choice(VALUES) for key in some(random, KEYS, 4)}
        for _ in range(random.randint(1, 3))
    ]


def _label_objects(random: Random) -> Iterator[Request]:
    while True:
        selector: Request = {}
        if chance(random, 0.6):
            selector["matchLabels"] = _match_labels(random)
        if chance(random, 0.8):
            selector["matchExpressions"] = [
                _expression(random) for _ in range(random.randint(0, 3))
            ]
        yield {"op": "labelSelector", "selector": selector, "labels": _label_maps(random)}


def _match_labels(random: Random) -> dict[str, str]:
    """Never two bad entries: upstream reports the first it meets, in the map's random order."""
    if chance(random, 0.15):
        return {random.choice(BAD_KEYS): random.choice(VALUES)}
    if chance(random, 0.15):
        return {random.choice(KEYS): random.choice(BAD_VALUES)}
    good = [value for value in VALUES if not value.startswith("-")]
    return {random.choice(KEYS): random.choice(good) for _ in range(random.randint(0, 2))}


def _expression(random: Random) -> Request:
    operator = random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    if chance(random, 0.08):
        operator = random.choice(("", "in", "Gt", "Lt", "Equals"))
    expression: Request = {
        "key": random.choice(BAD_KEYS if chance(random, 0.05) else KEYS),
        "operator": operator,
    }
    if operator in ("In", "NotIn") or chance(random, 0.1):
        expression["values"] = [_value(random) for _ in range(random.randint(0, 3))]
    return expression


def _field_texts(random: Random) -> Iterator[str]:
    yield from FIELD_SEEDS
    while True:
        text = ",".join(
            random.choice(FIELD_KEYS)
            + random.choice(("=", "==", "!="))
            + random.choice((*VALUES, "b\\,c", "b\\=c", "b\\\\", "node-1"))
            for _ in range(random.randint(1, 3))
        )
        yield _garbled(random, text, "=!,\\ ") if chance(random, 0.3) else text


def _field_maps(random: Random) -> list[dict[str, str]]:
    values = ("", "x", "1", "b,c", "b=c", "b\\", "node-1", "web")
    return [
        {key: random.choice(values) for key in some(random, FIELD_KEYS, 4)}
        for _ in range(random.randint(1, 2))
    ]


def _garbled(random: Random, text: str, alphabet: str) -> str:
    at = random.randrange(len(text) + 1)
    return random.choice(
        (text[:at] + text[at + 1 :], text[:at] + random.choice(alphabet) + text[at:])
    )
