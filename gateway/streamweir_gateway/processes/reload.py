"""Reading a configuration again while it is served: when asked to, or as soon as the file changes.

Source: the configuration contract, rules (`serve`).
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Final, TypeAlias

from streamweir_gateway.config import ConfigErrors, GatewayConfig

__all__ = ["NEEDS_RESTART", "Load", "OnReady", "differences_kept", "loaded", "reloading"]

logger = logging.getLogger("streamweir.server")

OnReady: TypeAlias = Callable[[tuple[str, int]], object]
"""Called with the address listened on, as soon as requests are taken."""

Load: TypeAlias = Callable[[], GatewayConfig]
"""Reads the configuration once more; raises `ConfigErrors` where it is bad."""

NEEDS_RESTART: Final = ("listen", "server.admin", "server.runs", "server.workers", "store")
"""Keys whose change only a restart takes over."""


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
    values = {key: attrgetter(key) for key in NEEDS_RESTART}
    return [key for key, value in values.items() if value(old) != value(new)]


@contextmanager
def reloading(files: Callable[[], Iterable[Path]]) -> Iterator[None]:
    """Within this block, send this process SIGHUP whenever the content of one of the files has changed.

    Their directories are watched and not the files: editors put a new file in place, Kubernetes a new link.

    Args:
        files: says which files matter; asked anew after each change.
    """
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(files, over), name="configuration watcher", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(timeout=5)


def _watch(files: Callable[[], Iterable[Path]], over: threading.Event) -> None:
    from watchfiles import watch  # noqa: PLC0415 - only where it is asked for

    known = _contents(files())
    folders = _folders(known)
    while not over.is_set():
        for _changes in watch(
            *folders, recursive=False, stop_event=over, rust_timeout=500, raise_interrupt=False
        ):
            found = _contents(files())
            has_changed = any(known.get(path) != content for path, content in found.items())
            known |= found
            if has_changed:
                os.kill(os.getpid(), signal.SIGHUP)
            if not _folders(found) <= folders:
                folders = _folders(known)
                break


def _contents(files: Iterable[Path]) -> dict[Path, bytes]:
    """The files by name, without those that are just being replaced."""
    found = {}
    for path in files:
        with suppress(OSError):
            found[path] = path.read_bytes()
    return found


def _folders(files: Iterable[Path]) -> set[Path]:
    return {path.parent for path in files if path.parent.is_dir()}
