"""What dynamic resource allocation is, told on a cluster of its own: `make demo`.

Needs no network, no root, no container runtime, and less than a minute. Everything that is started
is stopped at the end, also after Ctrl-C. Exits with 0 if all went as told, with 1 and a sentence if
anything came out differently, with 130 if it was interrupted.
"""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":
    # Until anything is started there is nothing to stop: Ctrl-C simply ends the program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from program import main

    sys.exit(main())
