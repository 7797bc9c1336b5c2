"""Other processes, seen through `/proc` (Linux); any of them may end between two calls."""

import os
import signal
from pathlib import Path


def workers_of(parent: int) -> list[int]:
    """Process ids of the workers of this gateway."""
    children = _file(parent, f"task/{parent}/children").split()
    return [int(pid) for pid in children if b"spawn_main" in _file(int(pid), "cmdline")]


def is_alive(pid: int) -> bool:
    """Whether the process runs: one that has ended and was not waited for does not."""
    return _file(pid, "stat").rpartition(b")")[2].split()[:1] not in ([], [b"Z"])


def sockets_of(pid: int) -> list[str]:
    """Inodes of its open sockets, one for each descriptor."""
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []
    targets = [_target(f"/proc/{pid}/fd/{descriptor}") for descriptor in descriptors]
    return [target[8:-1] for target in targets if target.startswith("socket:")]


def kill(pid: int) -> None:
    """End the process at once, if it has not ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _file(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""
