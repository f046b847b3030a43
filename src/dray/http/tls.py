"""TLS for a listener: versions, protocols, and certificates of clients.

A client may show a certificate; one that the client CA did not sign ends the handshake. Files that
were renewed are read again by `reload_certificate`, for the connections that come after.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from dray.errors import ConfigurationError

__all__ = ["reload_certificate", "server_context"]


def server_context(
    certificate: Path, key: Path, *, client_authority: Path | None = None
) -> ssl.SSLContext:
    """A context for servers. With a client CA, clients may prove who they are by certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # Renegotiation lets a client make the server work for nothing.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    # Clients of ours keep connections for hours: making tickets costs more than they ever save.
    context.num_tickets = 0
    reload_certificate(context, certificate, key)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        try:
            context.load_verify_locations(client_authority)
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(f"client CA {client_authority}: {error}") from error
    return context


def reload_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Show this certificate to clients that connect from now on."""
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"certificate {certificate} with key {key}: {error}") from error
