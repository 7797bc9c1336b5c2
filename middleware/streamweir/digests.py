"""Hash functions, whose module loads with the first digest: few streams need one, as it loads OpenSSL."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashlib import blake2b

__all__ = ["new_blake2b", "sha256_of"]


def new_blake2b(data: bytes = b"", *, digest_size: int) -> blake2b:
    """Return a BLAKE2b object that has been fed `data`; `digest_size` is in bytes."""
    made: blake2b = _hashlib().blake2b(data, digest_size=digest_size)
    return made


def sha256_of(pieces: Iterable[bytes]) -> bytes:
    """Return the SHA-256 digest of the joined `pieces`."""
    digest = _hashlib().sha256()
    for piece in pieces:
        digest.update(piece)
    made: bytes = digest.digest()
    return made


@cache
def _hashlib() -> Any:
    import hashlib  # noqa: PLC0415 - see above

    return hashlib
