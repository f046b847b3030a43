"""TLS to a server: whom we trust, by which name we know it, and which certificate we show.

Certificates may be files, which are renewed while a client lives, or the bytes themselves. A
context is kept until a file or the certificate has changed; new connections then get a new one.
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from dray.errors import ConfigurationError

__all__ = ["TLS", "Trust"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trust:
    """How a server is told from an impostor, and which certificate it is shown."""

    authority: bytes | None = None  # PEM; without it and without a file, the system's authorities
    authority_file: Path | None = None
    insecure: bool = False  # believe anybody
    server_name: str = ""  # instead of the host's
    certificate: tuple[bytes, bytes] | None = field(default=None, repr=False)  # PEM, with its key
    certificate_files: tuple[Path, Path] | None = None


class TLS:
    """Makes contexts."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._made_of: tuple[object, ...] = ()
        self._context: ssl.SSLContext | None = None

    @property
    def server_name(self) -> str:
        """By which name the server must be known, unless it is the one it is called by."""
        return self._trust.server_name

    def context(self, certificate: tuple[bytes, bytes] | None = None) -> ssl.SSLContext:
        """For a new connection, which shows this certificate instead of its own if one is given.

        Raises ConfigurationError.
        """
        trust = self._trust
        files = [trust.authority_file, *(trust.certificate_files or ())]
        made_of = (certificate, *(_stamp(path) for path in files if path is not None))
        if self._context is None or made_of != self._made_of:
            try:
                self._context = self._make(certificate or trust.certificate)
            except ConfigurationError as error:
                if self._context is None:
                    raise
                # Files are being replaced, one after the other: the old ones are good for a while.
                _log.warning("%s; what was read before is used", error)
            self._made_of = made_of
        return self._context

    def _make(self, certificate: tuple[bytes, bytes] | None) -> ssl.SSLContext:
        trust = self._trust
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if trust.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            _load_authority(context, trust)
        if certificate is not None:
            _load_pair(context, *certificate)
        elif trust.certificate_files is not None:
            files = trust.certificate_files
            try:
                context.load_cert_chain(*files)
            except (OSError, ssl.SSLError) as error:
                told = f"client certificate {files[0]} with key {files[1]}"
                raise ConfigurationError(f"{told}: {error}") from error
        return context


def _load_authority(context: ssl.SSLContext, trust: Trust) -> None:
    try:
        if trust.authority is not None:
            context.load_verify_locations(cadata=trust.authority.decode("ascii"))
        elif trust.authority_file is not None:
            context.load_verify_locations(trust.authority_file)
        else:
            context.load_default_certs()
    except (OSError, ssl.SSLError, ValueError) as error:
        named = trust.authority_file or "certificate-authority-data"
        raise ConfigurationError(f"certificate authority {named}: {error}") from error


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Show this certificate; the standard library reads it from files only."""
    # Both in one file, which nobody else can open, for as long as it takes.
    descriptor, name = tempfile.mkstemp(prefix="dray")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.rstrip(b"\n") + b"\n" + certificate)
        context.load_cert_chain(name)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"client certificate with its key: {error}") from error
    finally:
        Path(name).unlink()


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()  # reading it says what is wrong
    return status.st_mtime_ns, status.st_ino, status.st_size
