"""Reading manifests: paths and bytes in, objects with their places out.

Everything here is bounded in time and memory whatever the input, and fails with ManifestError
alone.
"""

from __future__ import annotations

from dray.api.yaml.errors import ManifestError
from dray.cli.manifests.documents import Document, EmptyList, Manifest, read_documents
from dray.cli.manifests.files import STANDARD_INPUT, find_files, read_file
from dray.cli.manifests.raw import RawObject, read_raw

__all__ = [
    "STANDARD_INPUT",
    "Document",
    "EmptyList",
    "Manifest",
    "ManifestError",
    "RawObject",
    "find_files",
    "read_documents",
    "read_file",
    "read_raw",
]
