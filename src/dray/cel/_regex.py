"""Whether a pattern is a regular expression Go would compile, and what Go says if not.

Kubernetes matches with Go's regexp package, whose language is RE2's. A pattern written out in an
expression is refused when the expression is compiled, so the compiler must know the language; it
matches nothing itself.

Upstream counterpart: Go's regexp/syntax (Parse with Perl flags), including its bounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = [
    "PatternError",
    "validate_pattern",
]

_REPEAT_MAX: Final = 1000
_HEIGHT_MAX: Final = 1000
_SIZE_MAX: Final = (128 << 20) // 40
"""Instructions a compiled pattern may have: 128 MiB of 40 bytes each."""

_COUNT: Final = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_CODE_POINT_MAX: Final = 0x10FFFF


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMED_CLASSES: Final = frozenset(
    f"[:{negated}{name}:]"
    for negated in ("", "^")
    for name in _words(
        "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit"
    )
)
_UNICODE_CLASSES: Final = _words(
    # Categories, and their long names as they read with separators dropped.
    "Any Assigned Ascii C Cc Cf Cn Co Cs L Lc Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf"
    " Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"
    " Casedletter Closepunctuation Combiningmark Connectorpunctuation Control Currencysymbol"
    " Dashpunctuation Decimalnumber Enclosingmark Finalpunctuation Format Initialpunctuation Letter"
    " Letternumber Lineseparator Lowercaseletter Mark Mathsymbol Modifierletter Modifiersymbol"
    " Nonspacingmark Number Openpunctuation Other Otherletter Othernumber Otherpunctuation"
    " Othersymbol Paragraphseparator Privateuse Punctuation Separator Spaceseparator Spacingmark"
    " Surrogate Symbol Titlecaseletter Unassigned Uppercaseletter Cntrl Digit Punct"
    # Scripts of one word. Go drops separators before it looks a script up, but its table keeps
    # them, so that it finds none of two words.
    " Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi"
    " Braille Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot"
    " Cyrillic Deseret Devanagari Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic"
    " Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana Inherited"
    " Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha"
    " Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin"
    " Miao Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya"
    " Osage Osmanya Palmyrene Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham"
    " Sinhala Sogdian Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu"
    " Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi"
)


class PatternError(ValueError):
    """Go would not compile the pattern; the text is Go's."""

    def __init__(self, problem: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{where}`")


def validate_pattern(pattern: str) -> None:
    """Raise PatternError unless Go would compile the pattern."""
    _Pattern(pattern).parse()


@dataclass(slots=True)
class _Part:
    """A piece of pattern: how high its tree is, how many instructions, how often repeated."""

    height: int
    size: int
    repeats: int
    literal: bool = False


class _Group:
    """What is inside a pair of parentheses, or the whole pattern: alternatives of pieces."""

    __slots__ = ("alternatives", "captures", "pieces")

    def __init__(self, *, captures: bool) -> None:
        self.captures = captures
        self.alternatives: list[_Part] = []
        self.pieces: list[_Part] = []

    def next_alternative(self) -> None:
        self.alternatives.append(_joined(self.pieces, between=0))
        self.pieces = []

    def close(self) -> _Part:
        self.next_alternative()
        part = _joined(self.alternatives, between=1)
        if self.captures:
            return _Part(part.height + 1, part.size + 2, part.repeats)
        return _Part(part.height, part.size, part.repeats)


def _joined(parts: list[_Part], *, between: int) -> _Part:
    if len(parts) == 1:
        return parts[0]
    return _Part(
        height=1 + max((part.height for part in parts), default=0),
        size=max(1, sum(part.size for part in parts) + between * (len(parts) - 1)),
        repeats=max((part.repeats for part in parts), default=1),
    )


class _Pattern:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._position = 0
        self._groups = [_Group(captures=False)]

    def parse(self) -> None:
        text, length = self._text, len(self._text)
        last_repeat: int | None = None
        while self._position < length:
            start = self._position
            repeat = None
            char = text[start]
            if char in "*+?":
                self._position += 1
                self._repeat(start, 0 if char != "+" else 1, -1 if char != "?" else 1, last_repeat)
                repeat = start
            elif char == "{" and (count := _COUNT.match(text, start)):
                self._position = count.end()
                self._counted(start, count, last_repeat)
                repeat = start
            else:
                self._piece(char)
            last_repeat = repeat
        whole = self._groups[0].close() if len(self._groups) == 1 else None
        if whole is None:
            raise PatternError("missing closing )", text)
        self._check_bounds(whole)

    def _piece(self, char: str) -> None:
        match char:
            case "(":
                self._open()
            case ")":
                if len(self._groups) == 1:
                    raise PatternError("unexpected )", self._text)
                self._position += 1
                part = self._groups.pop().close()
                self._check_bounds(part)
                self._push(part)
            case "|":
                self._position += 1
                self._groups[-1].next_alternative()
            case "[":
                self._class()
                self._push(_Part(1, 1, 1))
            case "\\":
                self._backslash()
            case "." | "^" | "$":
                self._position += 1
                self._push(_Part(1, 1, 1))
            case _:
                self._position += 1
                self._push_literal()

    def _push(self, part: _Part) -> None:
        self._groups[-1].pieces.append(part)

    def _push_literal(self) -> None:
        """One more character; a repetition takes only the last, so they merge afterwards."""
        pieces = self._groups[-1].pieces
        if len(pieces) >= 2 and pieces[-1].literal and pieces[-2].literal:
            pieces[-2].size += pieces.pop().size
        pieces.append(_Part(1, 1, 1, literal=True))

    def _since(self, start: int) -> str:
        return self._text[start : self._position]

    # Repetition

    def _counted(self, start: int, count: re.Match[str], last_repeat: int | None) -> None:
        least = _bounded(count[1])
        most = least
        if count[2]:
            most = -1
            if count[3] is not None:
                most = _bounded(count[3])
                least = -1 if most < 0 else least
        if least < 0 or least > _REPEAT_MAX or most > _REPEAT_MAX or 0 <= most < least:
            raise PatternError("invalid repeat count", self._since(start))
        self._repeat(start, least, most, last_repeat, counted=True)

    def _repeat(
        self,
        start: int,
        least: int,
        most: int,
        last_repeat: int | None,
        *,
        counted: bool = False,
    ) -> None:
        if self._text.startswith("?", self._position):
            self._position += 1
        if last_repeat is not None:
            raise PatternError("invalid nested repetition operator", self._since(last_repeat))
        pieces = self._groups[-1].pieces
        if not pieces:
            raise PatternError("missing argument to repetition operator", self._since(start))
        inner = pieces.pop()
        part = _repeated(inner, least, most, counted=counted)
        pieces.append(part)
        self._check_bounds(part)
        if counted and (least >= 2 or most >= 2) and part.repeats > _REPEAT_MAX:
            raise PatternError("invalid repeat count", self._since(start))

    def _check_bounds(self, part: _Part) -> None:
        if part.size > _SIZE_MAX:
            raise PatternError("expression too large", self._text)
        if part.height > _HEIGHT_MAX:
            raise PatternError("expression nests too deeply", self._text)

    # Groups

    def _open(self) -> None:
        text, start = self._text, self._position
        if not text.startswith("(?", start):
            self._position += 1
            self._groups.append(_Group(captures=True))
            return
        rest = len(text) - start
        if (rest > 4 and text.startswith("P<", start + 2)) or (rest > 3 and text[start + 2] == "<"):
            self._named_group(start, start + (3 if text[start + 2] == "<" else 4))
            return
        self._flags(start)

    def _named_group(self, start: int, name_start: int) -> None:
        end = self._text.find(">", start)
        if end < 0:
            raise PatternError("invalid named capture", self._text[start:])
        if not _NAME.fullmatch(self._text[name_start:end]):
            raise PatternError("invalid named capture", self._text[start : end + 1])
        self._position = end + 1
        self._groups.append(_Group(captures=True))

    def _flags(self, start: int) -> None:
        """`(?i)`, which lasts, or `(?i:`, which opens a group; `(?-s)` takes flags away."""
        self._position += 2
        negated = seen = False
        while self._position < len(self._text):
            char = self._text[self._position]
            self._position += 1
            if char in "imsU":
                seen = True
            elif char == "-" and not negated:
                negated, seen = True, False
            elif char in ":)" and (seen or not negated):
                if char == ":":
                    self._groups.append(_Group(captures=False))
                return
            else:
                break
        raise PatternError("invalid or unsupported Perl syntax", self._since(start))

    # Escapes and classes

    def _backslash(self) -> None:
        text, start = self._text, self._position
        following = text[start + 1 : start + 2]
        if following and following in "AbBz":
            self._position += 2
            self._push(_Part(1, 1, 1))
        elif following == "C":
            raise PatternError("invalid escape sequence", text[start : start + 2])
        elif following == "Q":
            end = text.find("\\E", start + 2)
            stop = len(text) if end < 0 else end
            for _ in range(start + 2, stop):
                self._push_literal()
            self._position = stop if end < 0 else stop + 2
        elif self._class_escape():
            self._push(_Part(1, 1, 1))
        else:
            self._escape()
            self._push_literal()

    def _class_escape(self) -> bool:
        r"""Take `\pL`, `\d` and the like, if one is here."""
        text, start = self._text, self._position
        if text.startswith(("\\p", "\\P"), start):
            self._unicode_class(start)
            return True
        if text.startswith("\\", start) and text[start + 1 : start + 2] in tuple("dDsSwW"):
            self._position += 2
            return True
        return False

    def _unicode_class(self, start: int) -> None:
        text = self._text
        if not text.startswith("{", start + 2):
            sequence, name = text[start : start + 3], text[start + 2 : start + 3]
        else:
            end = text.find("}", start)
            if end < 0:
                raise PatternError("invalid character class range", text[start:])
            sequence, name = text[start : end + 1], text[start + 3 : end]
        canonical = re.sub(r"[_\- ]", "", name.removeprefix("^"))
        canonical = _ascii_upper(canonical[:1]) + _ascii_lower(canonical[1:])
        if canonical not in _UNICODE_CLASSES:
            raise PatternError("invalid character class range", sequence)
        self._position = start + len(sequence)

    def _escape(self) -> int:
        """Take an escaped character and answer its code point."""
        text, start = self._text, self._position
        self._position += 1
        if self._position == len(text):
            raise PatternError("trailing backslash at end of expression", "")
        char = self._next()
        if char in "01234567":
            octal = re.compile("[0-7]{1,2}").match(text, self._position)
            if char == "0" or octal:
                digits = char + (octal.group() if octal else "")
                self._position += len(digits) - 1
                return int(digits, 8)
        elif char == "x":
            point = self._hexadecimal()
            if point is not None:
                return point
        elif char in "afnrtv":
            return ord("\a\f\n\r\t\v"["afnrtv".index(char)])
        elif char < "\x80" and not char.isalnum():
            return ord(char)
        raise PatternError("invalid escape sequence", self._since(start))

    def _hexadecimal(self) -> int | None:
        if self._position == len(self._text):
            return None
        first = self._next()
        if first != "{":
            second = self._next() if self._position < len(self._text) else ""
            return int(first + second, 16) if first in _HEX and second in _HEX else None
        point, digits = 0, 0
        while self._position < len(self._text):
            char = self._next()
            if char == "}":
                return point if digits else None
            if char not in _HEX:
                return None
            point = point * 16 + int(char, 16)
            digits += 1
            if point > _CODE_POINT_MAX:
                return None
        return None

    def _next(self) -> str:
        char = self._text[self._position]
        self._position += 1
        return char

    def _class(self) -> None:
        text, start = self._text, self._position
        self._position += 1
        if text.startswith("^", self._position):
            self._position += 1
        first = True
        while first or not text.startswith("]", self._position):
            first = False
            if self._named_class() or self._class_escape():
                continue
            range_start = self._position
            low = self._class_character(start)
            following = text[self._position : self._position + 2]
            if len(following) == 2 and following[0] == "-" and following[1] != "]":
                self._position += 1
                if self._class_character(start) < low:
                    raise PatternError("invalid character class range", self._since(range_start))
        self._position += 1

    def _named_class(self) -> bool:
        """Take `[:alpha:]` and the like, if one is here."""
        text, start = self._text, self._position
        if not text.startswith("[:", start) or len(text) - start <= 2:
            return False
        end = text.find(":]", start + 2)
        if end < 0:
            return False
        name = text[start : end + 2]
        if name not in _NAMED_CLASSES:
            raise PatternError("invalid character class range", name)
        self._position = end + 2
        return True

    def _class_character(self, class_start: int) -> int:
        if self._position >= len(self._text):
            raise PatternError("missing closing ]", self._text[class_start:])
        if self._text[self._position] == "\\":
            return self._escape()
        return ord(self._next())


def _repeated(inner: _Part, least: int, most: int, *, counted: bool) -> _Part:
    height = inner.height + 1
    if not counted:
        # A star may take two instructions, the others one.
        extra = 2 if (least, most) == (0, -1) else 1
        return _Part(height, inner.size + extra, inner.repeats)
    if most < 0:
        size = inner.size + 2 if least == 0 else 1 + least * inner.size
    else:
        size = max(1, most * inner.size + most - least)
    if most == 0:
        return _Part(height, size, 0)
    times = most if most > 0 else least
    return _Part(height, size, inner.repeats * max(times, 1))


def _bounded(digits: str) -> int:
    """The number, or -1 when it has more digits than any use."""
    return int(digits) if len(digits) <= 9 else -1


def _ascii_upper(text: str) -> str:
    return text.upper() if text.isascii() else text


def _ascii_lower(text: str) -> str:
    return "".join(char.lower() if char.isascii() else char for char in text)
