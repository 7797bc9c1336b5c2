"""Checks the certificate of an upstream, and sends the certificate of the gateway."""

from __future__ import annotations

import ssl

from streamweir_gateway.config import Tls

__all__ = ["TlsFileError", "tls_context"]


class TlsFileError(Exception):
    """A file with certificates or a key is unusable."""


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return the TLS context for connections to one upstream. The call takes milliseconds, so make it once.

    Raises:
        TlsFileError: a file is missing or has the wrong content.
    """
    context = _trusting(tls.ca)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.cert is not None:
        try:
            context.load_cert_chain(tls.cert, tls.key, password=_no_password)
        except (OSError, ValueError) as error:
            raise TlsFileError(f"tls: the certificate {tls.cert} or its key cannot be used") from error
    return context


def _trusting(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ValueError) as error:
        raise TlsFileError(f"tls: the certificates in {ca} cannot be used") from error


def _no_password() -> str:
    raise ValueError("the key is encrypted")  # OpenSSL would ask for its password on the terminal
