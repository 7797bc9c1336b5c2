"""Reloads a configuration while it is served: on request, or when the file changes.

Source: the configuration contract, rules (`serve`).
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from streamweir_gateway.config import ConfigErrors, GatewayConfig
from streamweir_gateway.processes.command_channel import ConfigRefused

__all__ = ["NEEDS_RESTART", "Load", "OnReady", "differences_kept", "loaded", "reloading"]

logger = logging.getLogger("streamweir.server")

OnReady: TypeAlias = Callable[[tuple[str, int]], object]
"""Called with the listening address when requests are accepted."""

Load: TypeAlias = Callable[[], GatewayConfig]
"""Reads the configuration again; raises `ConfigErrors` if the configuration is faulty."""

NEEDS_RESTART: Final = (
    *("listen", "server.admin", "server.runs", "server.workers", "store"),
    *("console.listen", "console.token"),
)
"""The keys whose change needs a restart."""


def loaded(load: Load | None) -> GatewayConfig | ConfigRefused:
    """Read the configuration again. If it is faulty, log the problems and return them."""
    if load is None:
        logger.warning("configuration not taken over: there is no file to read again")
        return ConfigRefused(("there is no file to read again",))
    try:
        return load()
    except ConfigErrors as errors:
        lines = str(errors).splitlines()
        for line in lines:
            logger.error("configuration not taken over: %s", line)  # noqa: TRY400 - no fault of ours
        return ConfigRefused(tuple(lines))


def differences_kept(old: GatewayConfig, new: GatewayConfig) -> list[str]:
    """Return the changed keys that need a restart."""
    return [key for key in NEEDS_RESTART if _value(old, key) != _value(new, key)]


def _value(config: GatewayConfig, key: str) -> object:
    """Return the value of a key; None if its section is absent."""
    found: object = config
    for name in key.split("."):
        found = None if found is None else getattr(found, name)
    return found


@contextmanager
def reloading(files: Callable[[], Iterable[Path]]) -> Iterator[None]:
    """Send SIGHUP to this process, within this block, whenever the content of one of the files changes.

    The directories are watched, not the files: editors replace the file, and Kubernetes replaces a link.

    Args:
        files: returns the files to watch; called again after each change.
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
    """Return the content of each file, without files that are just being replaced."""
    found = {}
    for path in files:
        with suppress(OSError):
            found[path] = path.read_bytes()
    return found


def _folders(files: Iterable[Path]) -> set[Path]:
    return {path.parent for path in files if path.parent.is_dir()}
