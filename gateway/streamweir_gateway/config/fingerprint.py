"""The hash of the file of a configuration and of the files of its dialects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["fingerprint"]


def fingerprint(text: str, others: Iterable[Path] = ()) -> str:
    """Return `sha256:` and the digest of a file's text; that of each other file is digested with it.

    Without other files it is what `sha256sum` prints of the file.

    Args:
        text: the text of the file.
        others: files that it names; one that cannot be read counts as empty.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for path in others:
        content = b""
        with suppress(OSError):
            content = path.read_bytes()
        digest.update(hashlib.sha256(content).digest())
    return f"sha256:{digest.hexdigest()}"
