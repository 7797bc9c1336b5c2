"""Reads the reasoning of `chat.completion` objects, and the values in it that a server expects back.

Source: DeepSeek's page on the thinking mode (`reasoning_content`, which may be empty); OpenRouter's page on
reasoning tokens (`reasoning`, `reasoning_details`); the conversation contract, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.families.content_parts import content_pieces
from streamweir.codec.families.reasoning_details import ReasoningDetails
from streamweir.events import Meta, Thinking, Whole
from streamweir.options.limits import EVENT_BYTES
from streamweir.requests.merged_details import MergedDetails

__all__ = ["REASONING", "REASONING_DETAILS", "Reasoning"]

REASONING: Final = ("reasoning_content", "reasoning", "thinking")
REASONING_DETAILS: Final = "reasoning_details"
_WRITTEN: Final = ("reasoning_content", "reasoning")
"""The fields for reasoning that a request may have, too."""


class Reasoning:
    """Reads the reasoning of one choice.

    state    entered by                                                     an opaque value closes the block
    ──────   ────────────────────────────────────────────────────────────   ────────────────────────────────
    fresh    the object is made, `end_message`                              no
    empty    a field came without a text (`_field`), or details without     yes: the server may want to see
             an entry (`_has_details`), and no block has been closed        the empty field again
    open     a text (`_has_text`) or an entry of details has come           yes
    closed   `close` in one of the two states above (`_has_closed`)         no; a text opens another block

    Args:
        name: the key of the opaque values; None: the dialect has no opaque values.
        room: the most bytes of details that are kept. If a message has more, all its details are dropped.

    Attributes:
        is_pending: whether the state is `empty` or `open`; always False without a name.
    """

    def __init__(self, name: str | None, *, room: int = EVENT_BYTES) -> None:
        self.room = room
        self.is_pending = False
        self._name = name
        self._texts = ReasoningDetails()
        self._field: str | None = None
        self._details = MergedDetails()
        self._has_text = self._has_closed = self._has_details = self._is_overfull = False

    def read(self, delta: Mapping[str, Any], whole: Whole | None, meta: Meta | None) -> Iterator[Thinking]:
        """Yield the reasoning in a delta, or in a whole message. The latter repeats a stream's reasoning."""
        is_repeated = whole is not None and self._has_closed
        for name in REASONING:
            value = delta.get(name)
            if value is None:
                continue
            text = "".join(piece.text for piece in content_pieces(value))
            if not is_repeated:
                self._note(name, text)
            if text:
                yield Thinking(text, "reasoning", whole, meta=meta)
                break
        else:
            if details := delta.get(REASONING_DETAILS):
                for event in self._texts.read(details, whole, meta):
                    self._has_text = not is_repeated
                    yield event
        if self._name is None:
            return
        if not is_repeated and delta.get(REASONING_DETAILS) is not None:
            self._add_details(delta[REASONING_DETAILS])
        is_empty = self._field is not None or self._has_details
        self.is_pending = self._has_text or bool(self._details) or (is_empty and not self._has_closed)

    def close(self, meta: Meta | None) -> Iterator[Thinking]:
        """Yield the opaque value of the reasoning that arrived since the last opaque value, if any."""
        if self._name is None or not self.is_pending:
            return
        value: dict[str, Any] = {} if self._field is None else {"field": self._field}
        if self._has_details and (self._details or not self._has_closed):
            value["details"] = self._details.take()
        self.is_pending = self._has_text = False
        self._has_closed = True
        if value:
            yield Thinking("", "reasoning", opaque={self._name: value}, meta=meta)

    def end_message(self) -> None:
        """Note that the message has ended, so that later reasoning belongs to another message."""
        self.is_pending = self._has_text = self._has_closed = self._has_details = self._is_overfull = False
        self._field = None
        self._details = MergedDetails()

    def _note(self, name: str, text: str) -> None:
        if name in _WRITTEN and (text or self._field is None):
            self._field = name
            self._has_text = self._has_text or bool(text)

    def _add_details(self, details: Any) -> None:
        if self._is_overfull:
            return
        self._has_details = True
        self._details.add(details, is_cumulative=self._texts.are_cumulative(details))
        if self._details.size > self.room:
            self._details, self._is_overfull, self._has_details = MergedDetails(), True, False
