"""Whether a runtime gives containers the CDI devices that it is told of.

One that does not says nothing: it skips a field it does not know, or the whole feature is switched
off, and the container runs without its devices. So this is asked whenever it matters.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from dray.proto import cri_v1_pb2 as cri

__all__ = ["knows_cdi"]

# The first versions that read the field; those of others are taken to know it.
_FIRST_VERSIONS: Final = {"containerd": (1, 7), "cri-o": (1, 28)}

_VERSION: Final = re.compile(r"v?(\d{1,4})\.(\d{1,4})")


def knows_cdi(version: cri.VersionResponse, status: cri.StatusResponse) -> bool:
    """By what it says of itself; `status` should be the verbose one."""
    first = _FIRST_VERSIONS.get(version.runtime_name)
    found = _VERSION.match(version.runtime_version)
    if first and found and (int(found[1]), int(found[2])) < first:
        return False
    # containerd shows its configuration; before 2.0 the feature was off unless asked for.
    try:
        config: Any = json.loads(status.info.get("config", ""))
    except ValueError:
        return True
    return not (isinstance(config, dict) and config.get("enableCDI") is False)
