"""Makes expressions that are worth evaluating, with devices to evaluate them for.

The generator of questions about compiling does not care what a value is. Here arguments are mostly
such that a function can do something with them (quantities for `quantity`, zones for `getHours`,
small numbers for indexes), texts come from a small alphabet so that comparisons go either way, and
attributes are those that the generated devices have. Some of each still fail, and some values are
hidden behind a binding so that nothing is worked out before the device is known.

The same seed gives the same questions.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from dray.cel import _types as types
from dray.cel._functions import Overload
from dray.cel._types import Kind, Type
from tests.oracle.cel.arguments import (
    ARGUMENTS,
    FORMATTED,
    INDEXED,
    LEAVES,
    SMALL,
    STRUCTS,
    TEMPLATES,
)
from tests.oracle.cel.devices import FIXED, devices
from tests.oracle.cel.generate import Generator, Question

__all__ = ["DEVICES", "EvaluationGenerator", "in_full", "quirks"]

DEVICES = 50
"""How many devices the questions of one generator are about. Answers depend on the device, but
after some dozens another one adds little."""

QUIRKS = Path(__file__).parent / "quirks.txt"

_SHORT = re.compile(r"(?<![\w\"'.])[DK](?![\w\"'])")
_PARTS = {"D": "attributes", "K": "capacity"}
_HIDING = ("cel.bind(h, {}, h)", "[{}][0]", "(device.driver != '' ? {} : {})", '{{"k": {}}}.k')


class EvaluationGenerator(Generator):
    leaves = LEAVES
    structs = STRUCTS

    def __init__(self, seed: int, *, devices_each: int = 4) -> None:
        super().__init__(seed)
        self._devices_each = devices_each
        # Devices draw from a source of their own: more of them does not change the expressions.
        self._device_source = random.Random(seed + 1)
        self.devices = devices(self._device_source, DEVICES)

    def _question(self, text: str) -> Question:
        domain = self._random.choice(
            ['["d.com"]'] * 6 + ["[device.driver]"] * 3 + [".d", '["e.org"]', '["no.where"]']
        )
        question: Question = {
            "expression": in_full(text, domain),
            "consumableCapacity": True,
            "listTypeAttributes": self._random.random() < 0.6,
            "stored": self._random.random() < 0.5,
            "derived": self._random.random() < 0.05,
            "devices": self._device_source.sample(self.devices, self._devices_each),
        }
        if self._random.random() < 0.05:
            question["costLimit"] = self._random.randint(1, 30)
        return question

    def _expression(self) -> str:
        if self._random.random() < 0.12:
            comparison = self._random.choice(["==", "<", "!="])
            return f'{self._formatted()} {comparison} "fish"'
        return super()._expression()

    def _leaf(self, wanted: Type) -> str:
        if wanted.kind is Kind.LIST and self._random.random() < 0.3:
            attribute = {Kind.INT: "D.ints", Kind.STRING: "D.strings", Kind.BOOL: "D.bools"}.get(
                wanted.parameters[0].kind
            )
            if attribute is not None:
                return attribute
            if wanted.parameters[0].is_exactly(types.SEMVER):
                return "D.versions"
        text = super()._leaf(wanted)
        if self._random.random() < 0.04:
            hiding = self._random.choice(_HIDING)
            return hiding.format(*[text] * hiding.replace("{{", "").count("{"))
        return text

    def _call(
        self, name: str, overload: Overload, depth: int, wanted: Type | None = None
    ) -> tuple[str, Type]:
        if name == "format":
            return self._formatted(), types.STRING
        return super()._call(name, overload, depth, wanted)

    def _written(self, name: str, overload: Overload, arguments: list[str]) -> str:
        for place, argument in enumerate(overload.arguments):
            if self._random.random() < 0.2:
                continue
            fitting = ARGUMENTS.get((name, place))
            if fitting is not None and argument.kind is Kind.STRING:
                arguments[place] = self._random.choice(fitting)
                if self._random.random() < 0.2:
                    arguments[place] = f"cel.bind(h, {arguments[place]}, h)"
            if name in INDEXED and argument.kind is Kind.INT and (place > 0 or len(arguments) == 1):
                arguments[place] = self._random.choice(SMALL)
        return super()._written(name, overload, arguments)

    def _formatted(self) -> str:
        template = "".join(
            self._random.choice(TEMPLATES) for _ in range(self._random.randint(1, 2))
        )
        count = template.replace("%%", "").count("%")
        if self._random.random() < 0.05:
            count += 1
        values = ", ".join(f"dyn({self._random.choice(FORMATTED)})" for _ in range(count))
        receiver = f'"{template}"'
        if self._random.random() < 0.3:
            receiver = "D.template"
        elif self._random.random() < 0.5:
            receiver = f"({receiver} + '')"
        return f"{receiver}.format([{values}])"


def in_full(text: str, domain: str = '["d.com"]') -> str:
    """The text with D and K written out: the attributes and the capacity of a domain."""
    return _SHORT.sub(lambda found: f"device.{_PARTS[found[0]]}{domain}", text)


def quirks() -> Iterator[Question]:
    """The hand-written expressions, each for the fixed devices."""
    for text in QUIRKS.read_text(encoding="utf-8").splitlines():
        if not text or text.startswith("#"):
            continue
        yield {
            "expression": in_full(text),
            "consumableCapacity": True,
            "listTypeAttributes": True,
            "stored": True,
            "devices": list(FIXED),
        }
