"""Adds the answer of a run to the history of its thread, as a message of the assistant.

    state       entered by                            what is stored by `settle`
    ─────────   ───────────────────────────────────   ──────────────────────────────────────
    following   construction; `session_start` of a    nothing
                later attempt begins anew
    dropped     more than `MAX_BYTES`                 nothing
    ended       `session_end`                         the history with the turn, if the run is
                                                      completed or suspended; else nothing

Source: the conversation contract, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streamweir.codec.whole_turn import client_calls
from streamweir.errors import LimitExceeded
from streamweir.events import Content, Event, SessionEnd, SessionStart, Stamp, Thinking
from streamweir.requests.call_arguments import made_call
from streamweir.requests.canonical import Message
from streamweir.requests.messages import made_message
from streamweir.translation.fold import Fold, KeptJson, plain
from streamweir.translation.sink import EventTap, ListeningSink
from streamweir_gateway.requests.kept_history import MAX_BYTES, KeptHistory
from streamweir_gateway.requests.settling import Settling

__all__ = ["HistoryTap"]

_KEPT_ENDS: Final = ("completed", "suspended")


class HistoryTap(EventTap, ListeningSink, Settling):
    """Follows the attempts at one request, and stores the history at the end.

    Args:
        history: the threads of the endpoint.
        key: the name of the client's key.
        thread: the client's name for the thread; None: the name in the answer is used.
        messages: the messages of the thread, those of the request included.
    """

    def __init__(
        self, history: KeptHistory, key: str | None, thread: str | None, messages: Sequence[Message]
    ) -> None:
        self._history: Final = history
        self._key: Final = key
        self._thread = thread
        self._messages: Final = [*messages]
        self._fold: Fold | None = None
        self._end: SessionEnd | None = None
        self._run: Content | Thinking | None = None
        self._texts: list[str] = []
        self._size = 0

    def write(self, event: Event, stamp: Stamp) -> None:
        """Note the next event of the answer."""
        del stamp
        if isinstance(event, SessionStart):
            self._fold, self._end, self._run, self._texts, self._size = _new_fold(), None, None, [], 0
            self._thread = self._thread or event.session_id
        if isinstance(event, SessionEnd):
            self._end = event
        self._add_texts()
        if not isinstance(event, Thinking):
            self._add(event)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Note the next pieces of one text, joined."""
        del stamp
        if isinstance(event, Thinking):
            return
        if event is not self._run:
            self._add_texts()
            self._run = event
        if self._fold is not None:
            self._texts += texts
            self._size += sum(map(len, texts))
            if self._size > MAX_BYTES:
                self._fold, self._texts = None, []

    async def settle(self) -> None:
        """Store the history with the new turn, if the answer ended well."""
        if self._fold is None or self._thread is None or self._end is None:
            return
        if self._end.status in _KEPT_ENDS:
            turn = _turn(plain(self._fold.result()))
            if turn is not None:
                await self._history.put(self._key, self._thread, [*self._messages, turn])

    def _add_texts(self) -> None:
        run, texts, self._run, self._texts = self._run, self._texts, None, []
        if run is not None and texts:
            self._add(run.with_text("".join(texts)))

    def _add(self, event: Event) -> None:
        if self._fold is None:
            return
        try:
            self._fold.add(event)
        except LimitExceeded:
            self._fold = None


def _new_fold() -> Fold:
    return Fold(limit=MAX_BYTES, keep=KeptJson)


def _turn(folded: dict[str, Any]) -> Message | None:
    """Return an answer as a message of the assistant; None if it has no text and no client calls."""
    text = folded["message"]["content"]
    calls = [
        made_call(call["tool_id"], call["tool_name"], call["arguments"]) for call in client_calls(folded)
    ]
    if not text and not calls:
        return None
    return made_message("assistant", text or None, tool_calls=calls)
