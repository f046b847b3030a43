"""A real containerd of its own for a test: its images, its network, its files in one directory.

Nothing is installed or pulled. containerd, its shim and ctr are those of `tests.interop.build`, or
others that are named; runc, busybox and the CNI plugins are the distribution's. Images are made
here, of busybox alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.interop.build import path_of

__all__ = ["IMAGE", "MISSING", "Containerd", "runtime_programs"]

IMAGE = "dray.test/busybox:1"
PAUSE = "dray.test/pause:1"

BUSYBOX = Path("/usr/bin/busybox")
CNI = Path("/usr/lib/cni")
APPLETS = [
    "cat",
    "echo",
    "env",
    "head",
    "id",
    "kill",
    "ls",
    "nc",
    "printf",
    "sh",
    "sleep",
    "stat",
    "stty",
    "tail",
    "test",
    "touch",
    "true",
]

# Long enough for a machine that does other things as well.
START_SECONDS = 60.0
BOOTED = b"containerd successfully booted"

# Not used by anybody else, one hopes: this is a test of nodes, on a machine for tests.
NETWORK = "10.247.77.0/24"


def runtime_programs() -> dict[str, Path]:
    """containerd, its shim and ctr, where they are or would be."""
    directory = os.environ.get("DRAY_TEST_CONTAINERD")
    if directory:
        return {name: Path(directory) / name for name in _NAMES}
    return {name: path_of(name) for name in _NAMES}


_NAMES = ("containerd", "containerd-shim-runc-v2", "ctr")


def _missing() -> Iterator[str]:
    if os.geteuid() != 0:
        yield "root's rights"
    for name, path in runtime_programs().items():
        if not path.exists():
            yield f"{name} (python -m tests.interop.build {name})"
    if shutil.which("runc") is None:
        yield "runc (apt-get install runc)"
    if not BUSYBOX.exists():
        yield "a static busybox (apt-get install busybox-static)"
    if not (CNI / "ptp").exists():
        yield "CNI plugins (apt-get install containernetworking-plugins)"


# What this machine lacks, with how to get it; empty if the tests can run.
MISSING = ", ".join(_missing())


class Containerd:
    """The process. Files are below `directory`; CDI files go to `cdi`."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="drayc", dir="/tmp"))
        self.socket = self.directory / "c.sock"
        self.cdi = self.directory / "cdi"
        self.log = self.directory / "containerd.log"
        self._logged_bytes = 0
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("cdi", "cni", "bin"):
            (self.directory / name).mkdir()
        for name, path in runtime_programs().items():
            (self.directory / "bin" / name).symlink_to(path)
        (self.directory / "cni" / "10-dray.conflist").write_text(json.dumps(_NETWORK))
        (self.directory / "config.toml").write_text(self._config())

    @property
    def endpoint(self) -> str:
        return f"unix://{self.socket}"

    @property
    def version(self) -> str:
        shown = subprocess.run(
            [self.directory / "bin" / "containerd", "--version"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return shown.split()[2].removeprefix("v")

    async def start(self) -> None:
        """Run it, and return once it serves CRI."""
        environment = {**os.environ, "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}"}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self.directory / "bin" / "containerd",
                    "--config",
                    self.directory / "config.toml",
                ],
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        await self._booted()
        # Images are kept over restarts.
        if not (self.directory / "images.tar").exists():
            _write_images(self.directory / "images.tar")
            await asyncio.to_thread(
                self.control,
                "-n",
                "k8s.io",
                "images",
                "import",
                "--all-platforms",
                str(self.directory / "images.tar"),
            )

    async def _booted(self) -> None:
        """Its log is all it tells anybody."""
        assert self._process is not None
        async with asyncio.timeout(START_SECONDS):
            while BOOTED not in self.log.read_bytes()[self._logged_bytes :]:
                assert self._process.poll() is None, self.log.read_text()[-4000:]
                await asyncio.sleep(0.05)
        self._logged_bytes = self.log.stat().st_size

    def control(self, *arguments: str) -> str:
        """Run ctr."""
        command = [self.directory / "bin" / "ctr"]
        done = subprocess.run(
            [*command, "-a", self.socket, *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode:
            log = self.log.read_text()[-4000:]
            raise AssertionError(f"ctr {' '.join(arguments)}: {done.stderr}\n{log}")
        return done.stdout

    def kill(self) -> None:
        """As a crash: containers and their shims go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End it, with everything that a failed test left running."""
        for shim in list(self._shims()):
            # Those of containers first: nobody else knows them.
            children = [*Path(f"/proc/{shim}/task").glob("*/children")]
            processes = [word for file in children for word in file.read_text().split()]
            for process in (*map(int, processes), shim):
                os.kill(process, signal.SIGKILL)
        self.kill()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            path = line.split()[1]
            if path.startswith(f"{self.directory}/"):
                subprocess.run(["umount", "-l", path], check=False, capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _shims(self) -> Iterator[int]:
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"-address" in words and str(self.socket).encode() in words:
                yield int(entry.name)

    def _config(self) -> str:
        directory = self.directory
        old = self.version.startswith("1.")
        cri = "io.containerd.grpc.v1.cri" if old else "io.containerd.cri.v1.runtime"
        images = (
            f'sandbox_image = "{PAUSE}"\n'
            if old
            else f"[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = \"{PAUSE}\"\n"
        )
        cdi = f'enable_cdi = true\ncdi_spec_dirs = ["{self.cdi}"]\n'
        # Old ones know of no CDI, but skip what they do not know.
        return f"""
version = {2 if old else 3}
root = "{directory}/root"
state = "{directory}/state"
[grpc]
address = "{self.socket}"
[plugins.'{cri}']
restrict_oom_score_adj = true
{cdi if not old else images}
[plugins.'{cri}'.cni]
bin_dir = "{CNI}"
conf_dir = "{directory}/cni"
[plugins.'{cri}'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins.'{cri}'.containerd.runtimes.runc.options]
BinaryName = "{shutil.which("runc")}"
{images if not old else ""}
"""


_NETWORK = {
    "cniVersion": "0.4.0",
    "name": "dray",
    "plugins": [
        {
            "type": "ptp",
            "ipMasq": False,
            "ipam": {"type": "host-local", "subnet": NETWORK, "routes": [{"dst": "0.0.0.0/0"}]},
        }
    ],
}


# Images -----------------------------------------------------------------------------------------


def _write_images(path: Path) -> None:
    """An OCI archive with the image of tests and that of sandboxes."""
    layer = _layer()
    blobs: dict[str, bytes] = {}

    def add(data: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"digest": f"sha256:{digest}", "size": len(data)}

    layer_media = "application/vnd.oci.image.layer.v1.tar"
    layers = [{"mediaType": layer_media, **add(layer)}]
    manifests = []
    for name, command in ((IMAGE, ["sh"]), (PAUSE, ["/bin/sleep", "2147483647"])):
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], "Cmd": command, "Labels": {"name": name}},
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"],
            },
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                **add(json.dumps(config).encode()),
            },
            "layers": layers,
        }
        manifests.append(
            {
                "mediaType": manifest["mediaType"],
                **add(json.dumps(manifest).encode()),
                "annotations": {"io.containerd.image.name": name},
            }
        )
    with tarfile.open(path, "w") as archive:
        _add_file(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        index = {"schemaVersion": 2, "manifests": manifests}
        _add_file(archive, "index.json", json.dumps(index).encode())
        for digest, data in blobs.items():
            _add_file(archive, f"blobs/sha256/{digest}", data)


def _layer() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("bin", "tmp", "etc", "dev", "proc", "sys"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(folder)
        _add_file(archive, "bin/busybox", BUSYBOX.read_bytes(), mode=0o755)
        _add_file(archive, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
        for applet in APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    return buffer.getvalue()


def _add_file(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    archive.addfile(member, io.BytesIO(data))
