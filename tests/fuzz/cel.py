"""A target for atheris, which looks for texts by the coverage of dray.cel that they add.

    python -m tests.fuzz.cel raw -max_total_time=600 corpus/

README.md beside this file says what is needed. An input that breaks a property stops the run and
is kept by libFuzzer; with `--keep-going FOLDER` it is written there, with its traceback, and the
run goes on, once for each place that fails.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import importlib
import random
import resource
import sys
import time
import traceback
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Bytes", "main"]

MEMORY_BYTES = 3 * 1024**3
SECONDS_MAX = 5.0
"""Of the processor, for one text and all devices; a clock on a shared machine tells less."""

HANGING_SECONDS = 120
DEEP_FRAMES = 700
"""A caller this deep still gets its answer: Python's limit is a thousand."""

DEVICES_SEED = 37


class Bytes(random.Random):
    """A random source that draws from an input while there is any, then from a seed."""

    def __init__(self, data: bytes) -> None:
        super().__init__(zlib.crc32(data))
        self._data = data
        self._at = 0

    def random(self) -> float:
        return self.getrandbits(16) / 65536

    def getrandbits(self, k: int, /) -> int:
        count = (k + 7) // 8
        taken = self._data[self._at : self._at + count]
        self._at += count
        if len(taken) < count:
            return super().getrandbits(k)
        return int.from_bytes(taken, "big") & ((1 << k) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="Further arguments are libFuzzer's."
    )
    parser.add_argument("mode", choices=["raw", "structured"])
    parser.add_argument("--keep-going", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=Path, metavar="FOLDER", help="write recorded texts, end")
    options, rest = parser.parse_known_args()
    if options.seeds is not None:
        write_seeds(options.seeds)
        return
    try:
        atheris: Any = importlib.import_module("atheris")
    except ModuleNotFoundError:
        sys.exit("atheris is not installed; tests/fuzz/README.md says how")
    with atheris.instrument_imports(include=["dray.cel"]):
        importlib.import_module("dray.cel")
        importlib.import_module("dray.cel.fleet")
        importlib.import_module("dray.cel._compiler")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    atheris.Setup([sys.argv[0], *rest], target(options.mode, options.keep_going))
    atheris.Fuzz()


def write_seeds(folder: Path) -> None:
    from tests.fuzz.expressions import recorded

    folder.mkdir(parents=True, exist_ok=True)
    for text in recorded():
        content = text.encode("utf-8", "surrogatepass")
        (folder / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)


def target(mode: str, keep_going: Path | None) -> Callable[[bytes], None]:
    """What is called with each input."""
    # Imported late, so that dray.cel is instrumented.
    from tests.fuzz.expressions import generated, mutated, soup, views
    from tests.fuzz.properties import examine, from_depth

    devices = views(random.Random(DEVICES_SEED))
    kept: set[str] = set()

    def text_of(data: bytes) -> str:
        if mode == "raw":
            return data.decode("utf-8", "surrogatepass" if data[:1] < b"\x80" else "replace")
        source = Bytes(data)
        return source.choice([generated, mutated, soup])(source)

    def ask(text: str) -> None:
        before = time.process_time()
        if zlib.crc32(text.encode("utf-8", "surrogatepass")) % 2:
            from_depth(DEEP_FRAMES, lambda: examine(text, devices))
        else:
            examine(text, devices)
        spent = time.process_time() - before
        assert spent < SECONDS_MAX, f"took {spent:.1f} seconds"

    def test_one_input(data: bytes) -> None:
        try:
            text = text_of(data)
        except UnicodeDecodeError:
            return
        faulthandler.dump_traceback_later(HANGING_SECONDS, exit=True)
        try:
            ask(text)
        except Exception as error:
            if keep_going is None:
                sys.stderr.write(f"{text!r}\n")
                raise
            keep(keep_going, kept, text, error)
        finally:
            faulthandler.cancel_dump_traceback_later()

    return test_one_input


def keep(folder: Path, kept: set[str], text: str, error: Exception) -> None:
    """Write the text down unless this place has failed before."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{type(error).__name__} {[(one.filename, one.lineno) for one in frames[-2:]]}"
    name = hashlib.sha256(place.encode()).hexdigest()[:12]
    path = folder / f"{name}.txt"
    if name in kept and path.stat().st_size <= len(text.encode("utf-8", "surrogatepass")):
        return
    kept.add(name)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    (folder / f"{name}.why").write_text("".join(traceback.format_exception(error)))


if __name__ == "__main__":
    main()
