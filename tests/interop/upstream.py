"""A real kube-apiserver on a fresh etcd, for as long as a comparison takes.

No controllers run beside it, so nothing appears by itself: scripts make the `default` service
account of their namespace themselves. Run as `python -m tests.interop.upstream` it stays until
interrupted and prints the path of its kubeconfig.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from http.client import HTTPException, HTTPSConnection
from pathlib import Path

from tests.interop.build import build
from tests.interop.certificates import Authority
from tests.interop.endpoint import Endpoint, Process, ServerFailed, write_kubeconfig

__all__ = ["Upstream"]

START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60

# Who the token file knows: name, groups. The first is the administrator.
USERS = {
    "admin": ("system:masters",),
    "alice": (),
    "system:node:n1": ("system:nodes",),
    "system:kube-scheduler": (),
}

RUNTIME_CONFIG = ",".join(
    f"resource.k8s.io/{version}=true" for version in ("v1beta1", "v1beta2", "v1alpha3")
)


class Upstream(Process):
    """etcd and kube-apiserver, started together and stopped together."""

    def __init__(
        self, *, port: int | None = None, flags: tuple[str, ...] = (), durable: bool = False
    ) -> None:
        """`durable` has etcd write to disk before it answers, as it does when nobody says no."""
        self.durable = durable
        self.folder = Path(tempfile.mkdtemp(prefix="dray-upstream-"))
        self.port = port or _free_port()
        self.flags = flags
        self._authority = Authority.create(self.folder)
        self._server_pair = self._authority.issue("kube-apiserver", server=True)
        self._signing_key = self._authority.signing_key()
        admin = self._authority.issue("admin", "system:masters")
        self.endpoint = Endpoint(
            url=f"https://127.0.0.1:{self.port}",
            ca_file=self._authority.file,
            cert_file=admin[0],
            key_file=admin[1],
            kubeconfig=self.folder / "kubeconfig",
            tokens={user: f"token-of-{user.replace(':', '-')}" for user in USERS},
        )
        write_kubeconfig(
            self.endpoint.kubeconfig,
            self.endpoint.url,
            ca=self.endpoint.ca_file,
            cert=self.endpoint.cert_file,
            key=self.endpoint.key_file,
        )
        self._tokens = self.folder / "tokens.csv"
        self._tokens.write_text(
            "".join(
                f'{self.endpoint.tokens[user]},{user},uid-{index},"{",".join(groups)}"\n'
                for index, (user, groups) in enumerate(USERS.items())
            )
        )
        self._etcd_port = _free_port()
        self._etcd = self._start_etcd()
        self._server = self._start_server()

    def restart(self) -> None:
        """Stops and starts kube-apiserver alone: the store and the address stay."""
        _end(self._server)
        self._server = self._start_server()

    @property
    def process_ids(self) -> list[int]:
        return [self._server.pid, self._etcd.pid]

    def stop(self) -> None:
        _end(self._server)
        _end(self._etcd)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_etcd(self) -> subprocess.Popen[bytes]:
        client = f"http://127.0.0.1:{self._etcd_port}"
        peer = f"http://127.0.0.1:{_free_port()}"
        command = [str(build("etcd")), "--name=interop", f"--data-dir={self.folder / 'etcd'}"]
        command += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        command += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        command += [f"--initial-cluster=interop={peer}"]
        command += ["--log-level=error"]
        if not self.durable:
            # Nothing here outlives the run, so nothing need reach the disk.
            command += ["--unsafe-no-fsync"]
        return self._spawn("etcd", command)

    def _start_server(self) -> subprocess.Popen[bytes]:
        command = [
            str(build("kube-apiserver")),
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._server_pair[0]}",
            f"--tls-private-key-file={self._server_pair[1]}",
            f"--client-ca-file={self._authority.file}",
            f"--token-auth-file={self._tokens}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._signing_key}",
            f"--service-account-signing-key-file={self._signing_key}",
            f"--runtime-config={RUNTIME_CONFIG}",
            # Off by default, but resourcepoolstatusrequests is not served without it.
            "--feature-gates=DRAResourcePoolStatus=true",
            f"--cert-dir={self.folder / 'certs'}",
            "--endpoint-reconciler-type=none",
            "--profiling=false",
            "--allow-privileged=true",
            *self.flags,
        ]
        server = self._spawn("kube-apiserver", command)
        self._wait_ready(server)
        return server

    def _spawn(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def _wait_ready(self, server: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if server.poll() is not None:
                tail = (self.folder / "kube-apiserver.log").read_text()[-3000:]
                self.stop()
                raise ServerFailed(f"kube-apiserver ended with {server.returncode}:\n{tail}")
            if self._ready():
                return
            time.sleep(0.2)
        raise ServerFailed(
            f"kube-apiserver was not ready after {START_SECONDS_MAX} s: {self.folder}"
        )

    def _ready(self) -> bool:
        connection = HTTPSConnection(
            "127.0.0.1", self.port, context=self.endpoint.tls(admin=True), timeout=5
        )
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException, ssl.SSLError):
            return False
        finally:
            connection.close()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> None:
    server = Upstream(port=int(os.environ["PORT"]) if "PORT" in os.environ else None)
    sys.stdout.write(f"{server.endpoint.kubeconfig}\n")
    sys.stdout.flush()
    try:
        signal.pause()
    except KeyboardInterrupt:
        sys.stderr.write("stopping\n")
    finally:
        server.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    main()
