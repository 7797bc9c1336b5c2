"""What a client says of a run: its handle, and how far it has read it.

Source: the contract of resumable streams, sections 2 and 3.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from starlette.types import Scope

from streamweir.asgi.headers import header_values
from streamweir.asgi.refusals import Refusal

__all__ = ["RUN_HEADER", "Position", "brought_handle", "is_handle", "new_handle", "position_of", "run_name"]

RUN_HEADER: Final = b"x-streamweir-run"
_HANDLE: Final = re.compile(r"run_[0-9a-f]{32}")
_POSITION: Final = re.compile(r"(?:(run_[0-9a-f]{32})\.)?(0|[1-9][0-9]{0,17})(?:-([1-9][0-9]{0,8}))?")
_AFTER: Final = re.compile(r"-1|0|[1-9][0-9]{0,17}")


class Position(NamedTuple):
    """How far a client has read a run.

    Attributes:
        run: the handle that it names; None if it names none.
        event: the last one of which it has anything; -1 for none.
        frames: so many frames of that event; None if it has them all.
    """

    run: str | None = None
    event: int = -1
    frames: int | None = None

    @property
    def next_event(self) -> int:
        """The first event that is to be written, or the rest of it."""
        return self.event if self.frames is not None else self.event + 1


def is_handle(text: str) -> bool:
    """Return whether `text` has the form of a handle."""
    return _HANDLE.fullmatch(text) is not None


def new_handle() -> str:
    """Return a handle that nobody can guess."""
    return f"run_{secrets.token_hex(16)}"


def brought_handle(scope: Scope) -> str | None:
    """Return the handle that a request brings along, if it does.

    Raises:
        Refusal: its header holds something else, or two of them.
    """
    values = header_values(scope["headers"], RUN_HEADER)
    if len(values) > 1 or (values and not is_handle(values[0])):
        raise Refusal("BAD_REQUEST", "X-Streamweir-Run: must be run_ and 32 lower-case hex digits, once.")
    if values:
        return values[0]
    named = [value for value in _query(scope, "run") if is_handle(value)]
    return named[0] if len(named) == 1 else None  # another form is the application's own


def position_of(scope: Scope) -> Position | None:
    """Return how far the client of a request is; None if it does not say.

    Raises:
        Refusal: what it says is no position.
    """
    given = header_values(scope["headers"], b"last-event-id")
    if given:
        match = _POSITION.fullmatch(given[0])
        if match is None or len(given) > 1:
            raise Refusal("BAD_REQUEST", "Last-Event-ID: must be the id of an event of this run.")
        return Position(match[1], int(match[2]), None if match[3] is None else int(match[3]))
    after = _query(scope, "after")
    if not after:
        return None
    if len(after) > 1 or _AFTER.fullmatch(after[0]) is None:
        raise Refusal("BAD_REQUEST", "after: must be the number of an event, or -1.")
    return Position(None, int(after[0]))


def run_name(key: str | None, handle: str) -> str:
    """Return what the store calls a run: nothing of it can be read from that.

    Args:
        key: the name of the key that it belongs to; None where there are none.
        handle: of the run.
    """
    return hashlib.sha256(f"{key or ''}\0{handle}".encode()).hexdigest()[:32]


def _query(scope: Scope, name: str) -> list[str]:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=None)
    return [value for key, value in pairs if key == name]
