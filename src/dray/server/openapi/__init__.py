"""What there is to ask for, as OpenAPI documents (v2 and v3), made from schemas.

`operations` says what can be done with a resource, `definitions` and `documents` write it down in
either version, `gnostic` in protobuf, `endpoint` answers requests for it. Upstream counterpart:
kube-openapi.
"""

from dray.server.openapi.documents import document, v2_document
from dray.server.openapi.endpoint import OpenAPI

__all__ = ["OpenAPI", "document", "v2_document"]
