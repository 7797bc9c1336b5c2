"""The names that an expression can use beside its current value; a name has one meaning throughout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from streamweir.errors import MalformedEvent
from streamweir.framing import Frame
from streamweir.json_size import JsonSizes
from streamweir.options.limits import EVENT_BYTES

__all__ = ["MAX_VISITED", "NAMES", "Scope", "Vocabulary"]

MAX_VISITED: Final = 100_000
"""The most items of lists that are visited for one frame; a frame with more is malformed."""

TEXT_PER_VISIT: Final = 1 << 12
"""Searching this many characters counts as visiting one item of a list."""

JSON_PER_VISIT: Final = 1 << 6
"""Comparing this many bytes of JSON counts as visiting one item of a list."""

_GROWTH: Final = 4
"""The values that expressions make for one frame may be at most this many times as large as an event."""

_NO_FRAME: Final = Frame(b"")


class Scope:
    """The values of the names in one stream. The code that evaluates expressions keeps the object, and
    sets the attributes for each frame or event.

    Attributes:
        message: the message that the rules see (`_message`).
        frame: the frame that is read.
        rest: the text after the prefix in a rule's condition; None if the rule has no such condition.
        item: the item of `each` (`_item`).
        index: the index of that item (`_index`).
        state: the values that rules remember (`_state`).
        options: the chosen options (`_options`).
        count: how many times the rule has written (`_count`).
        answer: returns the answer up to this frame (`_answer`).
        visited: the items of lists visited for this frame.
        made: roughly the bytes of texts and containers made for this frame.
        most: the most bytes that may be made for one frame, and that one value may have as JSON.
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
        """The raw text of the frame, or the text after the prefix in the rule's condition (`_text`)."""
        return self.frame.text if self.rest is None else self.rest

    def begin(self) -> None:
        """Reset the counters: another frame is read, or another event written."""
        self.visited = self.made = 0

    def forget(self) -> None:
        """Release the values of the last frame, so that a large frame is not kept until the next one."""
        self.message, self.item, self.frame, self.rest = None, None, _NO_FRAME, None

    def visit(self, items: int) -> None:
        """Count `items` of a list that are about to be visited.

        Raises:
            MalformedEvent: more items have been visited than allowed for one frame.
        """
        self.visited += items
        if self.visited > MAX_VISITED:
            raise MalformedEvent("more items of lists than may be visited for one frame")

    def visit_text(self, text: str) -> None:
        """Count a text that is about to be searched. Raises the errors of `visit`."""
        if len(text) >= TEXT_PER_VISIT:
            self.visit(len(text) // TEXT_PER_VISIT)

    def make(self, size: int) -> None:
        """Count a text or container of `size` bytes that is about to be made.

        Raises:
            MalformedEvent: more bytes have been made than allowed for one frame.
        """
        self.made += size
        if self.made > self.most:
            raise MalformedEvent("what is made of one frame is larger than allowed")

    def size_of(self, value: Any) -> int:
        """Return the bytes of JSON of a value that may contain parts of the message many times.

        Raises:
            MalformedEvent: the value is larger than allowed for one frame.
        """
        return JsonSizes(self.most).of(value)


def _no_answer() -> None:
    return None


class Vocabulary(NamedTuple):
    """The names that exist at the place of an expression.

    Attributes:
        names: the names of `NAMES`.
        members: for some names, the fields that their value may have.
    """

    names: frozenset[str] = frozenset()
    members: Mapping[str, Collection[str]] = {}

    def below_each(self) -> Vocabulary:
        """Return the names that exist for each item of a list."""
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
"""All names, each with a function that returns its value; an expression's place decides which exist."""
