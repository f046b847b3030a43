"""Nothing acknowledged is lost: not to kill -9, power failures, full disks or damaged files.

Real processes, real files. Where a state cannot be whole, opening must say so: a store that opens
has everything it ever acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dray.errors import StoreCorrupt, StoreError, StoreUnavailable
from dray.store.sqlite import SQLiteStore
from dray.store.store import Record
from tests.e2e.disk_trace import Disk, build_tracer, read_trace
from tests.e2e.store_load import Promises

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 600

# How many; `make durability` asks for more.
KILLS = int(os.environ.get("DRAY_DURABILITY_KILLS", "60"))
POWER_FAILURES = int(os.environ.get("DRAY_DURABILITY_POWER_FAILURES", "200"))
FLIPS = int(os.environ.get("DRAY_DURABILITY_FLIPS", "150"))
SEED = int(os.environ.get("DRAY_DURABILITY_SEED", "1"))


def program(name: str, *arguments: object) -> list[str]:
    return [sys.executable, str(ROOT / "tests" / "e2e" / name), *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


# kill -9 ---------------------------------------------------------------------------------------


def test_killed_writers_leave_everything_they_acknowledged(tmp_path: Path) -> None:
    done = run(*program("store_crashes.py", tmp_path, KILLS, SEED))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] == KILLS
    # Writers were at work, and were killed at work.
    assert told["acknowledged"] > 20 * KILLS
    assert told["unfinished"] > KILLS // 2
    assert {"start", "amid", "end"} <= told.keys()


def test_writers_that_acknowledge_too_early_are_found_out(tmp_path: Path) -> None:
    done = run(*program("store_crashes.py", tmp_path, 50, SEED, "hasty"))
    assert done.returncode == 1
    assert "killed at the" in done.stderr


# Power failures --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tracer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = build_tracer(tmp_path_factory.mktemp("tracer"))
    if library is None:
        pytest.skip("there is no C compiler to build the tracer with")
    return library


def verdicts_on_power_failures(
    tmp_path: Path, tracer: Path, count: int, *options: str, fail_every: int = 0
) -> Counter[str]:
    """Run writers once, then let the power fail at many moments of that run; what came of each."""
    data, trace = tmp_path / "data", tmp_path / "trace"
    data.mkdir()
    done = run(
        *program("store_writer.py", data, 4000, *options),
        LD_PRELOAD=str(tracer),
        DISK_TRACE_DIRECTORY=str(data),
        DISK_TRACE_FILE=str(trace),
        DISK_TRACE_FAIL_EVERY=str(fail_every),
    )
    assert done.returncode == 0, done.stderr
    operations = list(read_trace(trace))
    random = Random(SEED)
    # The beginning is where files and tables are made: every moment of it.
    first = next(i for i, operation in enumerate(operations) if operation.path.name == "told")
    moments = {*range(60), *range(first), *random.sample(range(len(operations)), count)}
    disk, promises = Disk(data), Promises()
    outcomes: Counter[str] = Counter()
    for index, operation in enumerate(operations):
        if operation.path.name == "told":
            for line in operation.data.decode().splitlines():
                promises.hear(line)
        else:
            disk.do(operation, random)
        if index in moments:
            with tempfile.TemporaryDirectory(dir=_memory(tmp_path)) as target:
                disk.fail(random, Path(target))
                database = Path(target) / "dray.db"
                outcomes[_verdict(promises, database, gaps=fail_every > 0)] += 1
    assert promises.count > 2000
    outcomes["failed syncs"] = sum(operation.kind == "F" for operation in operations)
    return outcomes


def _memory(otherwise: Path) -> Path:
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else otherwise


def _verdict(promises: Promises, path: Path, *, gaps: bool) -> str:
    try:
        promises.check(path, gaps=gaps)
    except StoreError as error:
        return f"refused: {error}"
    except AssertionError as error:
        return f"lost: {error}"
    return "whole"


def test_after_a_power_failure_everything_acknowledged_is_there(
    tmp_path: Path, tracer: Path
) -> None:
    outcomes = verdicts_on_power_failures(tmp_path, tracer, POWER_FAILURES)
    assert outcomes.keys() == {"whole", "failed syncs"}, outcomes


def test_a_disk_that_fails_to_sync_now_and_then_loses_nothing_acknowledged(
    tmp_path: Path, tracer: Path
) -> None:
    outcomes = verdicts_on_power_failures(tmp_path, tracer, POWER_FAILURES // 2, fail_every=17)
    assert outcomes["failed syncs"] > 10
    assert outcomes.keys() == {"whole", "failed syncs"}, outcomes


def test_a_store_that_does_not_sync_is_found_out(tmp_path: Path, tracer: Path) -> None:
    outcomes = verdicts_on_power_failures(tmp_path, tracer, 40, "unsynced")
    assert any(outcome.startswith("lost") for outcome in outcomes)


# Backups while writing -------------------------------------------------------------------------


class Listener(threading.Thread):
    """Hears all that a writer says, so that it never waits for us."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._lines: list[str] = []
        self._more = threading.Condition()

    def run(self) -> None:
        with self._path.open() as told:
            for line in told:
                with self._more:
                    self._lines.append(line)
                    self._more.notify()

    def lines(self, count: int) -> list[str]:
        """Everything said so far, once it is that much."""
        with self._more:
            assert self._more.wait_for(lambda: len(self._lines) >= count, PATIENCE_SECONDS)
            return list(self._lines)


def test_backups_of_a_running_store_have_all_that_was_acknowledged_before(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    os.mkfifo(data / "told")
    listener = Listener(data / "told")
    listener.start()
    with subprocess.Popen(program("store_writer.py", data, 10**9), env=environment()) as writer:
        try:
            count = 0
            for n in range(5):
                told = listener.lines(count + 200)
                count = len(told)
                copy = tmp_path / f"{n}.db"
                backup = ("-m", "dray.cli", "backup", str(copy), "--data-dir", str(data))
                done = run(sys.executable, *backup)
                assert done.returncode == 0, done.stderr
                promises = Promises()
                for line in told:
                    promises.hear(line)
                promises.check(copy, later=True)
        finally:
            writer.kill()
    listener.join()


# Full disks ------------------------------------------------------------------------------------


def fill(*command: str) -> dict[str, Any]:
    done = run(*command)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["told_when_full"] > 100
    assert told["refused"] >= 8
    assert told["refused_after"] == 0
    assert told["told"] > told["told_when_full"]
    return told


def test_a_limit_on_the_size_of_files_loses_nothing_and_can_be_lifted(tmp_path: Path) -> None:
    told = fill(*program("store_full.py", tmp_path, "limit"))
    assert all(str(tmp_path / "dray.db") in refusal for refusal in told["refusals"])


def test_a_full_disk_loses_nothing_and_can_be_freed(tmp_path: Path) -> None:
    _need_mounts(tmp_path)
    told = fill("unshare", "--mount", *program("store_full.py", tmp_path, "mount"))
    assert told["refusals"] == [f"{tmp_path}/dray.db: the disk is full"]


def _need_mounts(directory: Path) -> None:
    trial = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", str(directory)]
    try:
        able = subprocess.run(trial, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        able = False
    if not able:
        pytest.skip("mounting a file system is not allowed here")


OPEN = """
import sys
from pathlib import Path
from dray.errors import StoreError
from dray.store.sqlite import SQLiteStore
try:
    SQLiteStore.open(Path(sys.argv[1]))
except StoreError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize("there", [True, False], ids=["a-database", "nothing"])
def test_a_file_system_that_cannot_be_written_is_named(
    tmp_path: Path, image: Path, there: bool
) -> None:
    _need_mounts(tmp_path)
    fixed = tmp_path / "fixed"
    fixed.mkdir()
    if there:
        for name in ("dray.db", "dray.db-wal"):
            shutil.copy(image / name, fixed / name)
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    database = fixed / "dray.db"
    done = run(
        *("unshare", "--mount", "sh", "-c", script, "sh", str(fixed)),
        *(sys.executable, "-c", OPEN, str(database)),
    )
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith(f"StoreUnavailable: {database}")
    assert "Read-only file system" in done.stderr or "read-only" in done.stderr


# Damaged files ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a killed process leaves: some of it in the database, some of it only in the WAL."""
    directory = tmp_path_factory.mktemp("image")
    live = tmp_path_factory.mktemp("live")

    async def main() -> None:
        store = SQLiteStore.open(live / "dray.db")
        for size in (900, 60):  # the first round is more than fits into a WAL
            await asyncio.gather(
                *(store.put(f"/{n % 900}", b"%d " % n * size) for n in range(1500))
            )
        await store.delete("/7")
        # The mark may lag behind by one commit; what is asked for now is done after it is made.
        await store.compact(store.oldest)
        for name in ("dray.db", "dray.db-wal", "dray.db.mark"):
            shutil.copy(live / name, directory / name)
        await store.close()

    asyncio.run(main())
    assert (directory / "dray.db").stat().st_size > 1024 * 1024
    assert (directory / "dray.db-wal").stat().st_size > 100 * 1024
    return directory


@pytest.fixture
def copy(image: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(image, tmp_path / "copy")) / "dray.db"


def contents(path: Path) -> tuple[int, list[Record]]:
    async def main() -> tuple[int, list[Record]]:
        store = SQLiteStore.open(path)
        found = store.revision, list(store.range("").records)
        await store.close()
        return found

    return asyncio.run(main())


@pytest.fixture(scope="module")
def whole(image: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[Record]]:
    path = Path(shutil.copytree(image, tmp_path_factory.mktemp("whole") / "copy")) / "dray.db"
    found = contents(path)
    assert found[0] == 3002
    assert len(found[1]) == 899
    return found


def refusal(path: Path) -> str:
    before = _evidence(path)
    with pytest.raises((StoreCorrupt, StoreUnavailable)) as caught:
        SQLiteStore.open(path)
    assert _evidence(path) == before
    assert str(path) in str(caught.value)
    return str(caught.value)


def _evidence(path: Path) -> dict[str, bytes]:
    """The files that somebody may want to repair."""
    found = (path, path.with_name("dray.db-wal"))
    return {file.name: file.read_bytes() for file in found if file.exists() and file.stat().st_size}


def test_a_wal_that_was_removed_is_missed(copy: Path) -> None:
    copy.with_name("dray.db-wal").unlink()
    assert "but 3002 was acknowledged" in refusal(copy)


def test_a_wal_that_was_overwritten_is_missed(copy: Path) -> None:
    wal = copy.with_name("dray.db-wal")
    wal.write_bytes(Random(SEED).randbytes(wal.stat().st_size))
    assert "but 3002 was acknowledged" in refusal(copy)


def test_a_database_that_was_emptied_or_removed_is_missed(copy: Path) -> None:
    copy.write_bytes(b"")
    assert "is empty, but was not" in refusal(copy)
    copy.unlink()
    assert "is gone, but was not" in refusal(copy)
    copy.with_name("dray.db-wal").unlink()
    assert "is gone, but was not" in refusal(copy)


def test_a_database_that_is_older_than_its_mark_is_not_served(copy: Path, tmp_path: Path) -> None:
    older = tmp_path / "older.db"
    asyncio.run(_empty(older))
    shutil.copy(older, copy)
    copy.with_name("dray.db-wal").unlink()
    assert "ends at revision 1, but 3002 was acknowledged" in refusal(copy)


async def _empty(path: Path) -> None:
    await SQLiteStore.open(path).close()


def test_a_header_that_is_none_is_called_so(copy: Path) -> None:
    with copy.open("r+b") as file:
        file.write(b"Not SQLite format" + bytes(83))
    copy.with_name("dray.db-wal").unlink()
    assert "file is not a database" in refusal(copy)


@pytest.mark.parametrize("name", ["dray.db", "dray.db-wal"])
def test_a_file_cut_off_anywhere_is_whole_or_refused(
    image: Path, tmp_path: Path, whole: tuple[int, list[Record]], name: str
) -> None:
    size = (image / name).stat().st_size
    random = Random(SEED)
    verdicts: Counter[str] = Counter()
    for _ in range(FLIPS // 4):
        with tempfile.TemporaryDirectory(dir=_memory(tmp_path)) as target:
            path = Path(shutil.copytree(image, Path(target) / "copy")) / "dray.db"
            os.truncate(path.with_name(name), random.randrange(size))
            verdicts[_served(path, whole)] += 1
    assert verdicts["lost"] == verdicts["touched"] == 0
    assert verdicts["refused"] > 0


@pytest.mark.parametrize("name", ["dray.db", "dray.db-wal"])
def test_flipped_bits_are_noticed_or_do_not_matter(
    image: Path, tmp_path: Path, whole: tuple[int, list[Record]], name: str
) -> None:
    original = (image / name).read_bytes()
    random = Random(SEED)
    verdicts: Counter[str] = Counter()
    for _ in range(FLIPS):
        with tempfile.TemporaryDirectory(dir=_memory(tmp_path)) as target:
            path = Path(shutil.copytree(image, Path(target) / "copy")) / "dray.db"
            damaged = bytearray(original)
            start = random.randrange(len(damaged))
            for place in range(start, min(start + random.choice([1, 16, 4096]), len(damaged))):
                damaged[place] ^= random.randrange(1, 256)
            path.with_name(name).write_bytes(damaged)
            verdicts[_served(path, whole)] += 1
    assert verdicts["lost"] == verdicts["touched"] == 0
    assert verdicts["refused"] > FLIPS // 4


def _served(path: Path, whole: tuple[int, list[Record]]) -> str:
    before = _evidence(path)
    try:
        found = contents(path)
    except StoreError:
        return "refused" if _evidence(path) == before else "touched"
    return "whole" if found == whole else "lost"


# Two at once -----------------------------------------------------------------------------------


def test_a_second_process_is_refused_and_told_of_the_first(tmp_path: Path) -> None:
    async def main() -> None:
        store = SQLiteStore.open(tmp_path / "dray.db")
        command = [sys.executable, "-c", OPEN, str(tmp_path / "dray.db")]
        process = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE)
        _, said = await process.communicate()
        assert process.returncode == 1
        wanted = f"StoreUnavailable: {tmp_path}/dray.db is in use by process {os.getpid()}"
        assert said.decode().strip() == wanted
        await store.put("/a", b"undisturbed")
        await store.close()

    asyncio.run(main())
