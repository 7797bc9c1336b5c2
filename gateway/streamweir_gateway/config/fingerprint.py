"""Computes the hash of a configuration file and of the files of its dialects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["fingerprint"]


def fingerprint(text: str, others: Iterable[Path] = ()) -> str:
    """Return `sha256:` and the digest of a file's text, together with the digests of the other files.

    Without other files the digest is the one that `sha256sum` prints for the file.

    Args:
        text: the text of the file.
        others: the files that the file names. An unreadable file counts as empty.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for path in others:
        content = b""
        with suppress(OSError):
            content = path.read_bytes()
        digest.update(hashlib.sha256(content).digest())
    return f"sha256:{digest.hexdigest()}"
