"""What a runtime fails with: a sentence, and the reason a waiting container shows for it."""

from __future__ import annotations

from typing import Final

from dray.errors import DrayError

__all__ = [
    "CREATE_CONTAINER_ERROR",
    "CREATE_SANDBOX_ERROR",
    "IMAGE_INSPECT_ERROR",
    "IMAGE_NEVER_PULL",
    "IMAGE_PULL_ERROR",
    "RUN_CONTAINER_ERROR",
    "RuntimeFailed",
    "UnresolvedDevices",
]

CREATE_CONTAINER_ERROR: Final = "CreateContainerError"
CREATE_SANDBOX_ERROR: Final = "CreatePodSandboxError"
RUN_CONTAINER_ERROR: Final = "RunContainerError"
IMAGE_INSPECT_ERROR: Final = "ImageInspectError"
IMAGE_NEVER_PULL: Final = "ErrImageNeverPull"
IMAGE_PULL_ERROR: Final = "ErrImagePull"


class RuntimeFailed(DrayError):
    """A runtime could not do what it was asked to."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class UnresolvedDevices(RuntimeFailed):
    """CDI devices that no specification defines: their driver should prepare the claim again."""

    def __init__(self, message: str, devices: tuple[str, ...]) -> None:
        super().__init__(message, reason=CREATE_CONTAINER_ERROR)
        self.devices = devices
