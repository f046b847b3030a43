"""What is wrong with an input that is not even a document."""

from __future__ import annotations

from dray.errors import DrayError

__all__ = ["ManifestError"]


class ManifestError(DrayError):
    """An input cannot be read: the rule, and where, as far as is known (lines count from 1)."""

    def __init__(self, rule: str, line: int = 0, column: int = 0, *, file: str = "") -> None:
        super().__init__(rule, line, column)
        self.rule = rule
        self.line = line
        self.column = column
        self.file = file

    def in_file(self, file: str) -> ManifestError:
        """The same error, saying which file it is about."""
        return ManifestError(self.rule, self.line, self.column, file=file)

    def __str__(self) -> str:
        where = [self.file] if self.file else []
        where += [str(number) for number in (self.line, self.column) if number]
        return f"{':'.join(where)}: {self.rule}" if where else self.rule
