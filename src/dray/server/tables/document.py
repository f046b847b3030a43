"""The Table document: columns, rows, and the objects that the rows stand for.

Put together from bytes: a list of thousands is answered by copying, not by building values.
Upstream counterpart: apiserver pkg/endpoints/handlers/response.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from dray.errors import BadRequest, FieldError, FieldErrorType
from dray.server.tables.printer import Printer

__all__ = ["NO_OBJECT", "IncludeObject", "table"]

# What a row embeds that shows no object.
NO_OBJECT: Final = b"null"


class IncludeObject(Enum):
    """What a row embeds of its object; the value is what a query asks for it by."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"

    @staticmethod
    def parse(text: str) -> IncludeObject:
        """Of a query's includeObject; without one it is the metadata. Raises BadRequest."""
        if not text:
            return IncludeObject.METADATA
        try:
            return IncludeObject(text)
        except ValueError:
            names = ", ".join(f'"{one.value}"' for one in IncludeObject)
            error = FieldError(
                FieldErrorType.INVALID, "includeObject", text, f"must be one of {names}"
            )
            raise BadRequest(f"Unable to convert to Table as requested: {error}") from None


def table(
    printer: Printer,
    rows: Iterable[bytes],
    *,
    version: str = "v1",
    metadata: bytes = b"{}",
    with_columns: bool = True,
) -> bytes:
    """The document, from the JSON of rows that the printer made.

    `metadata` is that of the list, or of the single object: resourceVersion, continue,
    remainingItemCount. In a watch only the first table says its columns.
    """
    columns = printer.column_definitions if with_columns else b"null"
    return (
        b'{"kind":"Table","apiVersion":"meta.k8s.io/%b","metadata":%b,'
        b'"columnDefinitions":%b,"rows":[%b]}'
        % (version.encode(), metadata, columns, b",".join(rows))
    )
