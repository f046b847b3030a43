"""Makes expressions to ask both compilers about, from a seed.

Three kinds, interleaved: every overload of the function table called with arguments of its types,
random well-typed expressions, and both of these damaged (a wrong argument, a lost character, a
swapped token). The same seed gives the same questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from dray.cel import _types as types
from dray.cel._functions import Overload, functions
from dray.cel._types import Kind, Type
from dray.cel._unify import Substitution

Question = dict[str, Any]

_SYMBOLS = {
    "_+_", "_-_", "_*_", "_/_", "_%_", "_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_", "_&&_", "_||_",
}  # fmt: skip
_UNWRITABLE = {"@not_strictly_false", "@sortByAssociatedKeys", "cel.@mapInsert"}
_TIMES = ["0", "1700000000", '"2024-02-29T12:00:00Z"', '"2023-01-01T00:00:00.5+01:00"']
_PATTERNS = ['"^a.*z$"', '"[a-z]+"', 'r"\\d{2}"', '"(a|b)*"']
_STRINGS = ['"a"', "'fish'", '""', '"1Gi"', '"é世"', '"d.com"', 'r"\\x"', '"""long\ntext"""']
_LEAVES: dict[Kind, list[str]] = {
    Kind.BOOL: ["true", "false", "device.allowMultipleAllocations", 'D["flag"]', "has(D.x)"],
    Kind.INT: ["0", "1", "-7", "0x1F", "9223372036854775807", "D.count", "K.size()"],
    Kind.UINT: ["0u", "3u", "0xFFu", "18446744073709551615U"],
    Kind.DOUBLE: ["0.5", "-1e3", ".25", "1.0", "6.02e23"],
    Kind.STRING: [*_STRINGS, "device.driver", "D.model", 'D["a/b"]'],
    Kind.BYTES: ["b'x'", 'b"\\xff"', "b''"],
    Kind.NULL: ["null"],
    Kind.DURATION: ['duration("1h")', 'duration("1.5s")'],
    Kind.TIMESTAMP: [f"timestamp({text})" for text in _TIMES],
    Kind.DYN: ["D.any", "dyn(1)", "dyn('x')", "D['v']", "dyn([1])"],
    Kind.ANY: ["D.any", "D['v']"],
    Kind.TYPE: ["type(1)", "int", "string", "net.IP", "type(D.x)"],
}
_STRUCTS: dict[str, list[str]] = {
    "kubernetes.Quantity": ["K.memory", 'K["m"]', 'quantity("40Gi")', "quantity(D.q)"],
    "kubernetes.Semver": ['semver("1.2.3")', 'semver("v1.2", true)'],
    "kubernetes.URL": ['url("https://a.example/b?c=d")', "url(D.u)"],
    "kubernetes.NamedFormat": ["format.dns1123Label()", "format.uri()", "format.uuid()"],
    "kubernetes.DRADevice": ["device"],
    "net.IP": ['ip("10.0.0.1")', "ip(D.ip)"],
    "net.CIDR": ['cidr("10.0.0.0/8")', "cidr(device.driver)"],
}
_CHARACTERS = "()[]{}.,?:!-+*&|=<>\"'\\ x1@#$`\n"
_WORDS = [" in ", "true", "1.5", "null", " && "]
_ELEMENT_TYPES = [
    types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES, types.DURATION,
    types.TIMESTAMP, types.QUANTITY, types.SEMVER, types.DYN, types.IP,
]  # fmt: skip
_KEY_TYPES = [types.STRING, types.INT, types.UINT, types.BOOL]


class Generator:
    leaves = _LEAVES
    structs = _STRUCTS

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._functions = functions(includes=True)
        self._overloads = [
            (name, overload)
            for name, function in self._functions.items()
            if name not in _UNWRITABLE
            for overload in function.overloads
            if not any("authorization" in argument.name for argument in overload.arguments)
        ]
        self._locals: list[tuple[str, Type]] = []

    def questions(self, count: int) -> Iterator[Question]:
        made = 0
        while made < count:
            for name, overload in self._overloads:
                for _ in range(2):
                    yield self._question(self._as_bool(*self._call(name, overload, 1)))
                    yield self._question(self._expression())
                    made += 2
                if made >= count:
                    return

    def _question(self, text: str) -> Question:
        domain = self._random.choice(['["d.com"]', '["d.com"]', "[device.driver]", ".d"])
        text = text.replace("D.", f"device.attributes{domain}.")
        text = text.replace("D[", f"device.attributes{domain}[")
        text = text.replace("K.", f"device.capacity{domain}.")
        text = text.replace("K[", f"device.capacity{domain}[")
        if self._random.random() < 0.22:
            text = self._damaged(text)
        return {
            "expression": text,
            "consumableCapacity": self._random.random() < 0.8,
            "listTypeAttributes": self._random.random() < 0.5,
            "stored": self._random.random() < 0.4,
            "derived": self._random.random() < 0.1,
        }

    def _damaged(self, text: str) -> str:
        """One or two small changes anywhere."""
        for _ in range(self._random.randint(1, 2)):
            at = self._random.randrange(len(text))
            before, after = text[:at], text[at:]
            match self._random.randrange(6):
                case 0:
                    text = before + after[1:]
                case 1:
                    text = before + self._random.choice(_CHARACTERS) + after
                case 2:
                    text = before + self._random.choice(_WORDS) + after
                case 3:
                    text = before[:-1] + after[:1] + before[-1:] + after[1:]
                case 4:
                    text = before
                case _:
                    lost = self._random.choice(["device", '"', "(", "=="])
                    text = text.replace(lost, self._random.choice(["x", "[", "'", "+"]), 1)
            if not text:
                return "?"
        return text

    def _as_bool(self, text: str, type_: Type) -> str:
        """The text as part of something that a selector might be."""
        if type_.kind is Kind.BOOL or self._random.random() < 0.05:
            return text
        if self._random.random() < 0.3:
            return f"{self._of(type_, 1)} == {text}"
        if self._random.random() < 0.2:
            return f"dyn({text}) != null"
        return f"{text} == {self._of(type_, 1)}"

    def _expression(self) -> str:
        wanted = self._random.choice([types.BOOL] * 6 + [types.INT, types.STRING, types.DYN])
        return self._as_bool(self._of(wanted, 3), wanted)

    # Expressions of a type

    def _of(self, wanted: Type, depth: int) -> str:
        if self._random.random() < 0.02:
            wanted = self._random.choice(_ELEMENT_TYPES)
        if wanted.kind is Kind.TYPE_PARAMETER:
            wanted = self._random.choice(_ELEMENT_TYPES)
        fitting = [name for name, type_ in self._locals if type_.is_exactly(wanted)]
        if fitting and self._random.random() < 0.5:
            return self._random.choice(fitting)
        if depth <= 0 or self._random.random() < 0.2:
            return self._leaf(wanted)
        if self._random.random() < 0.25:
            return self._macro(wanted, depth - 1)
        for _ in range(6):
            name, overload = self._random.choice(self._overloads)
            if overload.result.kind is Kind.TYPE_PARAMETER and self._random.random() < 0.7:
                continue
            if Substitution().assign(overload.result, wanted):
                return self._call(name, overload, depth - 1, wanted)[0]
        return self._leaf(wanted)

    def _leaf(self, wanted: Type) -> str:
        match wanted.kind:
            case Kind.LIST:
                size = self._random.randrange(4)
                return f"[{', '.join(self._leaf_of(wanted.parameters[0]) for _ in range(size))}]"
            case Kind.MAP:
                size = self._random.randrange(3)
                key, value = wanted.parameters
                pairs = [f"{self._leaf_of(key)}: {self._leaf_of(value)}" for _ in range(size)]
                return f"{{{', '.join(pairs)}}}"
            case Kind.OPAQUE if wanted.is_optional:
                held = self._leaf_of(wanted.parameters[0])
                return self._random.choice(
                    [
                        f"optional.of({held})",
                        "optional.none()",
                        f"optional.ofNonZeroValue({held})",
                    ]
                )
            case Kind.STRUCT | Kind.OPAQUE:
                return self._random.choice(self.structs.get(wanted.name, ["device"]))
            case _:
                return self._random.choice(self.leaves[wanted.kind])

    def _leaf_of(self, wanted: Type) -> str:
        if wanted.kind is Kind.TYPE_PARAMETER:
            wanted = types.INT
        return self._leaf(wanted)

    # Calls

    def _call(
        self, name: str, overload: Overload, depth: int, wanted: Type | None = None
    ) -> tuple[str, Type]:
        known = Substitution()
        if wanted is not None:
            known.assign(overload.result, wanted)
        for parameter in overload.type_parameters:
            if known.get(parameter) is None:
                keys = parameter in ("K", "A") and "map" in str(overload.arguments)
                known.bind(parameter, self._random.choice(_KEY_TYPES if keys else _ELEMENT_TYPES))
        arguments = []
        for argument in overload.arguments:
            argument = known.apply(argument)
            if self._random.random() < 0.04:
                argument = self._random.choice(_ELEMENT_TYPES)
            arguments.append(self._of(argument, depth))
        if name in ("matches", "find", "findAll") and self._random.random() < 0.7:
            arguments[1] = self._random.choice(_PATTERNS)
        return self._written(name, overload, arguments), known.apply(overload.result)

    def _written(self, name: str, overload: Overload, arguments: list[str]) -> str:
        match name, arguments:
            case (("!_" | "-_"), [operand]):
                return f"{name[0]}({operand})"
            case "@in", [left, right]:
                return f"({left} in {right})"
            case "_?_:_", [condition, true, false]:
                return f"({condition} ? {true} : {false})"
            case "_[_]", [operand, key]:
                return f"{operand}[{key}]"
            case "_[?_]", [operand, key]:
                return f"{operand}[?{key}]"
            case "_?._", [operand, _]:
                return f"{operand}.?{self._random.choice(['name', 'x', 'driver'])}"
            case _, [left, right] if name in _SYMBOLS:
                return f"({left} {name[1:-1]} {right})"
            case _ if overload.member:
                return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
            case _:
                return f"{name}({', '.join(arguments)})"

    # Macros

    def _macro(self, wanted: Type, depth: int) -> str:
        element = self._random.choice(_ELEMENT_TYPES)
        makers = [self._bound, self._optional]
        if wanted.kind is Kind.BOOL:
            makers += [self._present, self._quantified, self._quantified, self._device]
        if wanted.kind is Kind.LIST:
            makers += [self._mapped, self._filtered, self._sorted, self._transformed_list]
        if wanted.kind is Kind.MAP:
            makers += [self._transformed_map, self._transformed_entries]
        return self._random.choice(makers)(wanted, element, depth)

    def _within(self, names: list[tuple[str, Type]], wanted: Type, depth: int) -> str:
        self._locals.extend(names)
        text = self._of(wanted, depth)
        del self._locals[-len(names) :]
        return text

    def _bound(self, wanted: Type, element: Type, depth: int) -> str:
        value = self._of(element, depth - 1)
        return f"cel.bind(b, {value}, {self._within([('b', element)], wanted, depth)})"

    def _optional(self, wanted: Type, element: Type, depth: int) -> str:
        target = self._of(types.optional_of(element), depth - 1)
        body = self._within([("o", element)], wanted, depth)
        return f"{target}.optMap(o, {body}).orValue({self._of(wanted, 0)})"

    def _present(self, wanted: Type, element: Type, depth: int) -> str:
        return self._random.choice(["has(D.x)", "has(device.driver)", "has(K.m)"])

    def _quantified(self, wanted: Type, element: Type, depth: int) -> str:
        if self._random.random() < 0.5:
            macro = self._random.choice(["all", "exists", "exists_one"])
            over = self._of(types.list_of(element), depth - 1)
            return f"{over}.{macro}(e, {self._within([('e', element)], types.BOOL, depth)})"
        macro = self._random.choice(["all", "exists", "existsOne"])
        over = self._of(types.map_of(types.STRING, element), depth - 1)
        names = [("k", types.STRING), ("v", element)]
        return f"{over}.{macro}(k, v, {self._within(names, types.BOOL, depth)})"

    def _device(self, wanted: Type, element: Type, depth: int) -> str:
        over, held = self._random.choice(
            [
                ("device.attributes", types.map_of(types.STRING, types.DYN)),
                ('device.attributes["d.com"]', types.DYN),
                ('device.capacity["d.com"]', types.QUANTITY),
            ]
        )
        macro = self._random.choice(["all", "exists", "existsOne"])
        if self._random.random() < 0.5:
            body = self._within([("k", types.STRING)], types.BOOL, depth)
            return f"{over}.{macro}(k, {body})"
        body = self._within([("k", types.STRING), ("v", held)], types.BOOL, depth)
        return f"{over}.{macro}(k, v, {body})"

    def _mapped(self, wanted: Type, element: Type, depth: int) -> str:
        over = self._of(types.list_of(element), depth - 1)
        names = [("e", element)]
        condition = ""
        if self._random.random() < 0.5:
            condition = f"{self._within(names, types.BOOL, depth - 1)}, "
        return f"{over}.map(e, {condition}{self._within(names, wanted.parameters[0], depth)})"

    def _filtered(self, wanted: Type, element: Type, depth: int) -> str:
        body = self._within([("e", wanted.parameters[0])], types.BOOL, depth)
        return f"{self._of(wanted, depth - 1)}.filter(e, {body})"

    def _sorted(self, wanted: Type, element: Type, depth: int) -> str:
        key = self._random.choice([types.INT, types.STRING, types.DOUBLE])
        body = self._within([("e", wanted.parameters[0])], key, depth)
        return f"{self._of(wanted, depth - 1)}.sortBy(e, {body})"

    def _transformed_list(self, wanted: Type, element: Type, depth: int) -> str:
        over = self._of(types.list_of(element), depth - 1)
        body = self._within([("i", types.INT), ("e", element)], wanted.parameters[0], depth)
        return f"{over}.transformList(i, e, {body})"

    def _transformed_map(self, wanted: Type, element: Type, depth: int) -> str:
        key, value = wanted.parameters
        over = self._of(types.map_of(key, element), depth - 1)
        body = self._within([("k", key), ("v", element)], value, depth)
        return f"{over}.transformMap(k, v, {body})"

    def _transformed_entries(self, wanted: Type, element: Type, depth: int) -> str:
        key, value = wanted.parameters
        names = [("i", types.INT), ("e", element)]
        entry = f"{{{self._within(names, key, 0)}: {self._within(names, value, depth)}}}"
        return f"{self._of(types.list_of(element), depth - 1)}.transformMapEntry(i, e, {entry})"
