"""What NVIDIA's XID errors mean, in words for people who have to decide what to do.

An XID is the number the kernel driver logs for an error. Some are an application's own doing and
leave the GPU well; some leave it in need of a reset. The texts are short; the numbers are NVIDIA's.
"""

from __future__ import annotations

from typing import Final

__all__ = ["APPLICATION_XIDS", "RESET_XIDS", "describe_xid"]

# Caused by what runs on the GPU, which goes on working: whoever runs it has to look.
APPLICATION_XIDS: Final = frozenset({13, 31, 43, 45, 66, 68, 69, 109})

# After these a GPU is not to be trusted before it was reset, or its machine restarted.
RESET_XIDS: Final = frozenset(
    {46, 48, 61, 62, 64, 74, 79, 95, 119, 120, 140, 143, 149, 154, 155, 156}
)

_TEXTS: Final = {
    8: "GPU stopped processing",
    13: "graphics engine exception, usually of the application",
    31: "memory page fault, usually of the application",
    32: "invalid or corrupted push buffer stream",
    38: "driver firmware error",
    43: "the application made the GPU stop processing",
    45: "the application's work was cleaned up early",
    46: "GPU stopped processing",
    48: "double bit ECC error",
    61: "internal micro-controller breakpoint",
    62: "internal micro-controller halt",
    63: "memory page retirement or row remapping was recorded",
    64: "memory page retirement or row remapping failed",
    66: "illegal access by the driver",
    68: "video processor exception",
    69: "graphics engine class error",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    92: "many single bit ECC errors",
    94: "contained memory error",
    95: "uncontained memory error",
    109: "context switch timed out",
    119: "GPU system processor does not answer",
    120: "GPU system processor error",
    121: "corrected error of the link to the processor",
    140: "unrecovered ECC error",
    143: "GPU could not be initialized",
    149: "NVLink error",
    154: "GPU needs recovery",
    155: "NVLink software error",
    156: "resource was retired",
}


def describe_xid(number: int) -> str:
    """What an XID means: "XID 79: GPU has fallen off the bus"."""
    return f"XID {number}: {_TEXTS.get(number, 'not one that is known here')}"
