"""Says what is wrong with a text that is not an expression."""

from __future__ import annotations

from dray.cel._lexer import token_at
from dray.cel._source import Issues, Source


def report_syntax_errors(source: Source, issues: Issues, offset: int) -> None:
    """Report the first place where the text stops being an expression."""
    position, text = 0, source.text
    while position < len(text):
        token = token_at(text, position)
        if token is None:
            shown = text[position]
            issues.report(position, f"Syntax error: token recognition error at: '{shown}'")
            return
        if position >= offset:
            issues.report(position, f"Syntax error: mismatched input '{token.text}'")
            return
        position += len(token.text)
    issues.report(len(text), "Syntax error: mismatched input '<EOF>'")
