"""The scope of an expression: names with a fixed meaning, and the counts that bound its cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from streamweir.errors import MalformedEvent
from streamweir.framing import Frame
from streamweir.json_size import JsonSizes
from streamweir.options.limits import EVENT_BYTES

__all__ = ["MAX_VISITED", "NAMES", "Scope", "Vocabulary"]

MAX_VISITED: Final = 100_000
"""The most list items that are visited for one frame; with more the frame is malformed."""

TEXT_PER_VISIT: Final = 1 << 12
"""Searching this number of characters counts as visiting one list item."""

JSON_PER_VISIT: Final = 1 << 6
"""Comparing this number of bytes of JSON counts as visiting one list item."""

_GROWTH: Final = 4
"""The values made for one frame may be this many times as large as one event."""

_NO_FRAME: Final = Frame(b"")


class Scope:
    """The values of names in one stream. The evaluator sets them for each frame or event.

    Attributes:
        message: the message that rules see (`_message`).
        frame: the frame that is read.
        rest: the text behind the prefix of a rule; None if the rule has no prefix.
        item: the item of `each` (`_item`).
        index: the index of the item (`_index`).
        state: the values that rules remember (`_state`).
        options: the chosen options (`_options`).
        count: the number of times that the rule has written (`_count`).
        answer: returns the text of the answer so far (`_answer`).
        visited: the number of list items visited for the frame.
        made: the bytes of texts and containers made for the frame, approximately.
        most: the most bytes that may be made for one frame, and the most bytes of one value as JSON.
    """

    __slots__ = (
        "answer",
        "count",
        "frame",
        "index",
        "item",
        "made",
        "message",
        "most",
        "options",
        "rest",
        "state",
        "visited",
    )

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.message: Any = None
        self.frame = _NO_FRAME
        self.rest: str | None = None
        self.item: Any = None
        self.index: int | None = None
        self.state: dict[str, Any] = {}
        self.options = options
        self.count = 0
        self.answer: Callable[[], str | None] = _no_answer
        self.visited = 0
        self.made = 0
        self.most = _GROWTH * EVENT_BYTES

    @property
    def text(self) -> str:
        """The raw text of the frame, or the text behind the prefix of the rule (`_text`)."""
        return self.frame.text if self.rest is None else self.rest

    def begin(self) -> None:
        """Reset the counts for the next frame or event."""
        self.visited = self.made = 0

    def forget(self) -> None:
        """Drop the message and the frame, so that a large frame is not kept until the next one."""
        self.message, self.item, self.frame, self.rest = None, None, _NO_FRAME, None

    def visit(self, items: int) -> None:
        """Count list items before they are visited.

        Raises:
            MalformedEvent: too many items are visited for one frame.
        """
        self.visited += items
        if self.visited > MAX_VISITED:
            raise MalformedEvent("more items of lists than may be visited for one frame")

    def visit_text(self, text: str) -> None:
        """Count a text before it is searched; raise as `visit` does."""
        if len(text) >= TEXT_PER_VISIT:
            self.visit(len(text) // TEXT_PER_VISIT)

    def make(self, size: int) -> None:
        """Count the bytes of a text or container before it is made.

        Raises:
            MalformedEvent: too many bytes are made for one frame.
        """
        self.made += size
        if self.made > self.most:
            raise MalformedEvent("what is made of one frame is larger than allowed")

    def size_of(self, value: Any) -> int:
        """Return the bytes of JSON of a value that may contain parts of the message several times.

        Raises:
            MalformedEvent: the value is too large for one frame.
        """
        return JsonSizes(self.most).of(value)


def _no_answer() -> None:
    return None


class Vocabulary(NamedTuple):
    """The names that an expression may use.

    Attributes:
        names: some of `NAMES`.
        members: by name, the fields that it has; a name without an entry may have any fields.
    """

    names: frozenset[str] = frozenset()
    members: Mapping[str, Collection[str]] = {}

    def below_each(self) -> Vocabulary:
        """Return the vocabulary for the items of `each`, with `_item` and `_index`."""
        return self._replace(names=self.names | {"_item", "_index"})


NAMES: Final[Mapping[str, Callable[[Scope], Any]]] = {
    "_message": lambda scope: scope.message,
    "_text": lambda scope: scope.text,
    "_event": lambda scope: scope.frame.event,
    "_item": lambda scope: scope.item,
    "_index": lambda scope: scope.index,
    "_state": lambda scope: scope.state,
    "_options": lambda scope: scope.options,
    "_count": lambda scope: scope.count,
    "_answer": lambda scope: scope.answer(),
}
"""All names with their meaning; the place of an expression decides which of them it may use."""
