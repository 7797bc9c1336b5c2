"""The names of a run: its handle, its name in the store, and the ids of its events.

Source: the contract of resumable streams, sections 2 and 3.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final, NamedTuple

__all__ = [
    "Position",
    "is_handle",
    "new_handle",
    "read_event_id",
    "run_name",
    "run_name_spans",
    "run_names_in",
    "short_handle",
    "with_short_handles",
]

_HANDLE: Final = re.compile(r"run_[0-9a-f]{32}")
_SHOWN: Final = 12
"""The number of characters of a handle that a log may hold: the whole handle opens the run."""

_DIGITS: Final = 32
_OPENS_RUN: Final = re.compile(r"((?:run|resp)_[0-9a-f]{8})[0-9a-f]{24}")
"""A handle, or the id of a kept response, which has the same digits; in a group, its first characters."""
_REVEALS_RUN: Final = re.compile(
    r"(?:run|resp)_[0-9a-f]{32}(?![0-9A-Za-z])|(?:msg|rs|fc|mcpr?)_[0-9a-f]{32}(?=_\d)"
)
"""A name that opens a run, or the id of an item of a kept response, which has the same digits."""
_SIGNS: Final = ("run_", "resp_", "msg_", "rs_", "fc_", "mcp")
"""Every match of `_REVEALS_RUN` contains one of these."""

_POSITION: Final = re.compile(r"(?:(run_[0-9a-f]{32})\.)?(0|[1-9][0-9]{0,17})(?:-([1-9][0-9]{0,8}))?")


class Position(NamedTuple):
    """The position up to which a client has read a run.

    Attributes:
        run: the handle in the event id; None if the client sent a number only.
        event: the last event of which the client has a frame; -1 if it has no event.
        frames: how many frames of that event the client has; None: all.
    """

    run: str | None = None
    event: int = -1
    frames: int | None = None

    @property
    def next_event(self) -> int:
        """The first event of which the client lacks a frame."""
        return self.event if self.frames is not None else self.event + 1


def is_handle(text: str) -> bool:
    """Return whether `text` has the form of a handle."""
    return _HANDLE.fullmatch(text) is not None


def new_handle() -> str:
    """Return a handle that cannot be guessed: 128 random bits."""
    return f"run_{secrets.token_hex(16)}"


def short_handle(handle: str) -> str:
    """Return the beginning of a handle, by which a run is known in logs."""
    return handle[:_SHOWN]


def with_short_handles(text: str) -> str:
    """Return `text` for a log: of each handle, and each id of a kept response, only the beginning is left."""
    return _OPENS_RUN.sub(r"\1", text)


def run_names_in(text: str) -> set[str]:
    """Return the names that open the runs in `text`: the handle and the id as a kept response of each."""
    digits = [match[0][-_DIGITS:] for match in _OPENS_RUN.finditer(text)]
    return {prefix + each for each in digits for prefix in ("run_", "resp_")}


def run_name_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the names in `text` that open a run, or reveal its digits."""
    for sign in _SIGNS:  # a generator would cost more than the search
        if sign in text:
            return [match.span() for match in _REVEALS_RUN.finditer(text)]
    return []


def read_event_id(text: str) -> Position | None:
    """Return the position that an SSE id names; None if it has another form."""
    match = _POSITION.fullmatch(text)
    if match is None:
        return None
    return Position(match[1], int(match[2]), None if match[3] is None else int(match[3]))


def run_name(key: str | None, handle: str) -> str:
    """Return the name of a run in the store, which reveals neither key nor handle.

    Args:
        key: the name of the API key that the run belongs to; None if runs have no owners.
        handle: the handle of the run.
    """
    return hashlib.sha256(f"{key or ''}\0{handle}".encode()).hexdigest()[:32]
