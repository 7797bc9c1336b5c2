"""Reading a configuration again while it is served: when asked to, or as soon as the file changes.

Source: the configuration contract, rules (`serve`).
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from streamweir_gateway.config import ConfigErrors, GatewayConfig

__all__ = ["Load", "OnReady", "differences_kept", "loaded", "reloading"]

logger = logging.getLogger("streamweir.server")

OnReady: TypeAlias = Callable[[tuple[str, int]], object]
"""Called with the address listened on, as soon as requests are taken."""

Load: TypeAlias = Callable[[], GatewayConfig]
"""Reads the configuration once more; raises `ConfigErrors` where it is bad."""


def loaded(load: Load | None) -> GatewayConfig | None:
    """Return the configuration, read once more; None, which has been logged, where that is not possible."""
    if load is None:
        logger.warning("configuration not taken over: there is no file to read again")
        return None
    try:
        return load()
    except ConfigErrors as errors:
        for line in str(errors).splitlines():
            logger.error("configuration not taken over: %s", line)  # noqa: TRY400 - no fault of ours
        return None


def differences_kept(old: GatewayConfig, new: GatewayConfig) -> list[str]:
    """Return the keys that differ and that only a restart can change."""
    pairs = {
        "listen": (old.listen, new.listen),
        "server.admin": (old.server.admin, new.server.admin),
        "server.workers": (old.server.workers, new.server.workers),
    }
    return [key for key, (before, after) in pairs.items() if before != after]


@contextmanager
def reloading(file: Path) -> Iterator[None]:
    """Within this block, send this process SIGHUP whenever the content of `file` has changed.

    Its directory is watched and not the file: editors put a new file in its place, Kubernetes a new link.
    """
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(file, over), name="configuration watcher", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(timeout=5)


def _watch(file: Path, over: threading.Event) -> None:
    from watchfiles import watch  # noqa: PLC0415 - only where it is asked for

    known = _content(file)
    for _changes in watch(
        file.parent, recursive=False, stop_event=over, rust_timeout=500, raise_interrupt=False
    ):
        content = _content(file)
        if content is not None and content != known:
            known = content
            os.kill(os.getpid(), signal.SIGHUP)


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:  # just being replaced
        return None
