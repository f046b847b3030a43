"""ConfigMaps and Secrets: bytes that travel as base64, or are no objects at all.

Upstream decodes them on the way in, so text that is not base64 never becomes an object; here the
text is kept, and looked at here.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from dray.api.core import ConfigMap
from dray.api.wire import Time
from dray.errors import BadRequest
from dray.server.models.model import Reading
from dray.server.models.typed import TypedModel
from dray.server.resources import Resource

__all__ = ["ConfigDataModel"]


class ConfigDataModel(TypedModel):
    """Refuses bytes that are not base64."""

    def read(
        self,
        body: bytes | Mapping[str, Any],
        resource: Resource,
        now: Time,
        *,
        encoded: bool = False,
    ) -> Reading:
        reading = super().read(body, resource, now, encoded=encoded)
        obj = reading.object
        field, data = (
            ("binaryData", obj.binary_data) if isinstance(obj, ConfigMap) else ("data", obj.data)
        )
        for name, text in data.items():
            try:
                base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError) as error:
                kind = resource.kind
                raise BadRequest(
                    f'{kind} in version "{resource.version}" cannot be handled as a {kind}: '
                    f"{field}.{name}: not base64: {error}"
                ) from error
        return reading
