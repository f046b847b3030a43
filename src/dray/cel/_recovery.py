"""Reads a text that is not an expression, reporting every mistake and going on after it.

Mistakes are found, worded and survived the way ANTLR does it: drop a token if the next one fits,
make up a token if this one would then fit, else skip to something that some rule in progress is
waiting for. What could be read comes back as a tree of Contexts, so that mistakes of other kinds
in it can be reported as well. Reading stops early after as many mistakes as upstream stands.

Upstream counterparts: ANTLR's DefaultErrorStrategy and generated parser code, the recovery limits
in cel-go parser/parser.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dray.cel import _lexer as lexer
from dray.cel._grammar import (
    RULE_END,
    RULES,
    Body,
    Call,
    Choice,
    Loop,
    Match,
    Maybe,
    Role,
    Rule,
    State,
    Step,
    listed,
    next_tokens,
)
from dray.cel._lexer import Token
from dray.cel._limits import RECURSION_MAX, SYNTAX_ERRORS_MAX
from dray.cel._parser import TooDeep
from dray.cel._trampoline import Steps, run

__all__ = [
    "Context",
    "GaveUp",
    "Reader",
    "Report",
    "limited",
]

_RECOVERIES_MAX: Final = 30
_SKIPPED_MAX: Final = 256
"""How often reading may go on after a mistake, and how many tokens one time may skip."""

_LEFT_RECURSIVE: Final = frozenset({"relation", "calc", "member"})
_RESERVED: Final = re.compile(r"no viable alternative at input '.(true|false|null)'")

Report = Callable[[int, str], None]


class GaveUp(Exception):
    """Too many mistakes, or too much skipped; the message, if any, has no place in the text."""


@dataclass(slots=True)
class Context:
    """What was read by one rule: tokens and contexts by label, and which alternative it was.

    The alternative is -1 until it is clear.
    """

    rule: str
    start: Token
    alternative: int = -1
    parts: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, label: str, part: Token | Context) -> None:
        if label:
            self.parts.setdefault(label, []).append(part)

    def all(self, label: str) -> list[Any]:
        return self.parts.get(label, [])

    def get(self, label: str) -> Any:
        found = self.parts.get(label)
        return found[0] if found else None


class _Mistake(Exception):
    """The rule in progress cannot go on; its caller can."""

    def __init__(self, token: Token, message: str) -> None:
        super().__init__(message)
        self.token = token
        self.message = message


@dataclass(slots=True)
class _Frame:
    """A rule in progress, and the state its caller was in."""

    rule: Rule
    caller: State | None
    context: Context
    precedence: int


class Reader:
    """Reads tokens, space included, once; `report` gets each syntax error.

    Tokens are taken from the text as late as possible: a mistake in the text's characters behind
    the place where reading stops is never found, upstream's or here.
    """

    def __init__(self, tokens: Iterator[Token], report: Report) -> None:
        self._source = tokens
        self._all: list[Token] = []
        self._visible: list[int] = []
        self._position = 0
        self._report = report
        self._frames: list[_Frame] = []
        self._depths = dict.fromkeys(RULES, 0)
        self._state = RULES["start"].start
        self._recovering = False
        self._recoveries = 0
        self._last_error: int | None = None
        self._last_states: set[State] = set()

    def read(self) -> Context:
        """Raises TooDeep, and GaveUp."""
        return run(self._rule("start", None, 0))

    # Tokens

    def _ahead(self, distance: int) -> Token:
        """The token at this distance, 1 being the current one; at the end, the end."""
        index = self._position + distance - 1
        while len(self._visible) <= index:
            if self._visible and self._all[-1].kind == lexer.END:
                return self._all[-1]
            token = next(self._source)
            if token.kind != "SPACE":
                self._visible.append(len(self._all))
            self._all.append(token)
        return self._all[self._visible[index]]

    def _kind(self, distance: int = 1) -> str:
        return self._ahead(distance).kind

    def _consume(self) -> Token:
        token = self._ahead(1)
        if token.kind != lexer.END:
            self._position += 1
            self._ahead(1)
        return token

    def _matched(self) -> None:
        self._recovering = False
        self._last_error = None
        self._last_states = set()

    # Rules

    def _rule(self, name: str, caller: State | None, precedence: int) -> Steps[Context]:
        rule = RULES[name]
        self._depths[name] += 1
        if self._depths[name] > RECURSION_MAX:
            raise TooDeep
        frame = _Frame(rule, caller, Context(name, self._ahead(1)), precedence)
        self._frames.append(frame)
        self._state = rule.start
        try:
            yield from self._body(rule.body)
        except _Mistake as mistake:
            self._report_mistake(mistake)
            self._recover()
        self._frames.pop()
        self._depths[name] -= 1
        if name not in _LEFT_RECURSIVE and caller is not None:
            self._state = caller
        return frame.context

    def _body(self, body: Body) -> Generator[Any, Any, None]:
        for step in body:
            yield from self._step(step)

    def _step(self, step: Step) -> Generator[Any, Any, None]:
        match step:
            case Match():
                self._state = step.state
                self._frames[-1].context.add(step.label, self._match(step.state))
            case Call():
                self._state = step.state
                context = yield self._rule(step.rule, step.state, step.precedence)
                self._frames[-1].context.add(step.label, context)
            case Maybe():
                self._state = step.state
                self._sync()
                if self._kind() in next_tokens(step.body[0].state):
                    yield from self._body(step.body)
            case Loop():
                yield from self._loop(step)
            case Choice():
                self._state = step.state
                self._sync()
                alternative = self._predict_alternative(step)
                if self._frames[-1].rule.name in _LEFT_RECURSIVE:
                    self._enlarge()
                self._frames[-1].context.alternative = alternative
                yield from self._body(step.bodies[alternative])

    def _loop(self, loop: Loop) -> Generator[Any, Any, None]:
        self._state = loop.state
        self._sync()
        again = loop.once or self._predict_again(loop)
        while again:
            if self._frames[-1].rule.name == "relation":
                self._enlarge()
            yield from self._body(loop.body)
            self._state = loop.back
            self._sync()
            again = self._predict_again(loop)

    def _enlarge(self) -> None:
        """What this rule has read so far becomes the left side of a larger whole."""
        frame = self._frames[-1]
        larger = Context(frame.rule.name, frame.context.start)
        larger.add("left", frame.context)
        frame.context = larger

    # Predictions

    def _predict_again(self, loop: Loop) -> bool:
        kind = self._kind()
        precedence = self._frames[-1].precedence
        match loop.decision:
            case "relation":
                return kind in next_tokens(loop.body[0].state) and precedence <= 1
            case "calc":
                if kind in ("*", "/", "%"):
                    return precedence <= 2
                return kind in ("+", "-") and precedence <= 1
            case "minus":
                return self._predict_minus()
            case "listInit" | "mapInit" | "fieldInit":
                # A comma may also be the one that is allowed before the closing bracket.
                element = loop.body[1].state
                return kind == "," and self._kind(2) in next_tokens(element)
        return kind in next_tokens(loop.body[0].state)

    def _predict_minus(self) -> bool:
        operand = next_tokens(RULES["primary"].start)
        if self._kind() != "-":
            if self._kind() in operand:
                return False
            raise self._no_way(1)
        if self._kind(2) in operand:
            return True
        raise self._no_way(2)

    def _predict_alternative(self, choice: Choice) -> int:
        kind = self._kind()
        match choice.decision:
            case "unary":
                return self._predict_unary()
            case "suffix":
                return self._predict_suffix()
            case "primary" if kind in (".", lexer.IDENTIFIER):
                return self._predict_name()
            case "literal" if kind == "-":
                if self._kind(2) in (lexer.INT, lexer.FLOAT):
                    return 0 if self._kind(2) == lexer.INT else 2
                raise self._no_way(2)
        for index, body in enumerate(choice.bodies):
            if kind in next_tokens(body[0].state):
                return index
        raise self._no_way(1)

    def _predict_unary(self) -> int:
        kind, following = self._kind(), self._kind(2)
        if kind == "!":
            return 1
        if kind != "-" or following in (lexer.INT, lexer.FLOAT):
            if kind in next_tokens(RULES["member"].start):
                return 0
            raise self._no_way(1)
        if following in next_tokens(RULES["primary"].start):
            return 2
        raise self._no_way(2)

    def _predict_suffix(self) -> int:
        if self._kind() == "[":
            return 2
        if self._kind(2) == lexer.IDENTIFIER:
            return 1 if self._kind(3) == "(" else 0
        if self._kind(2) in ("?", lexer.ESCAPED_IDENTIFIER):
            return 0
        raise self._no_way(2)

    def _predict_name(self) -> int:
        """A name alone, a call, or a message; what follows the name decides."""
        distance = 1
        if self._kind() == ".":
            if self._kind(2) != lexer.IDENTIFIER:
                raise self._no_way(2)
            distance = 2
        distance += 1
        if self._kind(distance) == "(":
            return 1
        while self._kind(distance) == "." and self._kind(distance + 1) == lexer.IDENTIFIER:
            distance += 2
        return 5 if self._kind(distance) == "{" else 0

    def _no_way(self, distance: int) -> _Mistake:
        """The tokens up to this distance begin nothing that is allowed here."""
        offending = self._ahead(distance)
        first = self._visible[self._position]
        if self._all[first].kind == lexer.END:
            text = lexer.END
        else:
            last = self._visible[min(self._position + distance - 1, len(self._visible) - 1)]
            shown = self._all[first : last + 1]
            text = "".join(token.text for token in shown if token.kind != lexer.END)
        return _Mistake(offending, f"no viable alternative at input {_quoted(text)}")

    # Recovery

    def _notify(self, token: Token, message: str) -> None:
        message = _RESERVED.sub(r"mismatched input '\1' expecting IDENTIFIER", message)
        self._report(token.offset, message)

    def _report_mistake(self, mistake: _Mistake) -> None:
        if not self._recovering:
            self._recovering = True
            self._notify(mistake.token, mistake.message)

    def _expected(self, state: State) -> frozenset[str]:
        """What may come here, rules in progress included."""
        following = next_tokens(state)
        expected = set(following)
        for frame in reversed(self._frames):
            if RULE_END not in following or frame.caller is None:
                break
            assert frame.caller.after is not None
            following = next_tokens(frame.caller.after)
            expected |= following
        expected.discard(RULE_END)
        if RULE_END in following:
            expected.add(lexer.END)
        return frozenset(expected)

    def _awaited(self) -> frozenset[str]:
        """What any rule in progress could go on with once the rules within it are over."""
        awaited: set[str] = set()
        for frame in self._frames:
            if frame.caller is not None:
                assert frame.caller.after is not None
                awaited |= next_tokens(frame.caller.after)
        awaited.discard(RULE_END)
        return frozenset(awaited)

    def _match(self, state: State) -> Token:
        if self._kind() in state.tokens:
            self._matched()
            return self._consume()
        return self._recover_inline(state)

    def _recover_inline(self, state: State) -> Token:
        self._count_recovery()
        deleted = self._delete_token(state)
        if deleted is not None:
            self._consume()
            return deleted
        current = self._ahead(1)
        assert state.target is not None
        if current.kind in self._expected(state.target):
            return self._insert_token(state, current)
        raise self._mismatch(state)

    def _mismatch(self, state: State) -> _Mistake:
        token = self._ahead(1)
        expected = listed(self._expected(state))
        return _Mistake(token, f"mismatched input {_quoted(token.text)} expecting {expected}")

    def _delete_token(self, state: State) -> Token | None:
        """Drop the current token if the one after it fits; answer that one."""
        if self._kind(2) not in self._expected(state):
            return None
        self._report_unwanted(state)
        self._consume()
        self._matched()
        return self._ahead(1)

    def _report_unwanted(self, state: State) -> None:
        if not self._recovering:
            self._recovering = True
            token = self._ahead(1)
            expected = listed(self._expected(state))
            self._notify(token, f"extraneous input {_quoted(token.text)} expecting {expected}")

    def _insert_token(self, state: State, current: Token) -> Token:
        """Go on as if the token that is missing were there."""
        expected = self._expected(state)
        if not self._recovering:
            self._recovering = True
            self._notify(current, f"missing {listed(expected)} at {_quoted(current.text)}")
        place = current
        if current.kind == lexer.END and self._position > 0:
            place = self._all[self._visible[self._position - 1]]
        [kind] = state.tokens
        return Token(kind, f"<missing '{kind}'>", place.offset)

    def _sync(self) -> None:
        """Before a choice or after a turn of a loop: is what comes next possible at all?"""
        state = self._state
        possible = next_tokens(state)
        if self._recovering or RULE_END in possible or self._kind() in possible:
            return
        if state.role is Role.LOOP_BACK:
            self._report_unwanted(state)
            self._skip_until(self._expected(state) | self._awaited())
        elif self._delete_token(state) is None:
            raise self._mismatch(state)

    def _recover(self) -> None:
        self._count_recovery()
        skipped = 0
        if self._last_error == self._position and self._state in self._last_states:
            # The last recovery from here skipped nothing: skip at least one token now.
            self._consume()
            skipped = 1
        self._last_error = self._position
        self._last_states.add(self._state)
        self._skip_until(self._awaited(), skipped)

    def _skip_until(self, kinds: frozenset[str], skipped: int | None = None) -> None:
        while self._kind() != lexer.END and self._kind() not in kinds:
            if skipped is not None:
                if skipped >= _SKIPPED_MAX:
                    raise GaveUp(f"error recovery token lookahead limit exceeded: {_SKIPPED_MAX}")
                skipped += 1
            self._consume()

    def _count_recovery(self) -> None:
        if self._recoveries == _RECOVERIES_MAX:
            self._notify(
                self._ahead(1), f"error recovery attempt limit exceeded: {_RECOVERIES_MAX}"
            )
            raise GaveUp
        self._recoveries += 1


def limited(report: Report) -> Report:
    """Reports syntax errors up to the bound, then gives up."""
    count = 0

    def limited_report(offset: int, message: str) -> None:
        nonlocal count
        if count >= SYNTAX_ERRORS_MAX:
            report(offset, f"Syntax error: More than {SYNTAX_ERRORS_MAX} syntax errors")
            raise GaveUp
        count += 1
        report(offset, f"Syntax error: {message}")

    return limited_report


def _quoted(text: str) -> str:
    escaped = text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
