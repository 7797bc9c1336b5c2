"""The names that an expression can use beside its current value; a name has one meaning in all of it."""

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
"""Looking through so many characters counts as looking at one item of a list."""

JSON_PER_VISIT: Final = 1 << 6
"""Comparing so many bytes of JSON counts as looking at one item of a list."""

_GROWTH: Final = 4
"""The values that expressions make of one frame are at most so many times as large as one event may be."""

_NO_FRAME: Final = Frame(b"")


class Scope:
    """The names of one stream. The caller that evaluates keeps them and sets them for each frame or event.

    Attributes:
        message: the message that the rules see (`_message`).
        frame: the frame that is read.
        rest: the text behind the prefix that a rule asked for; None if no rule asked for one.
        item: the item of `each` (`_item`).
        index: its place (`_index`).
        state: the values that rules remember (`_state`).
        options: the chosen options (`_options`).
        count: how often the rule has written (`_count`).
        answer: returns the answer so far (`_answer`).
        visited: items of lists visited so far.
        made: bytes of texts and containers made so far, about.
        most: so many bytes may be made for one frame, and one value may have so many as JSON.
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
        """The raw text of the frame, or the text behind the prefix that the rule asked for (`_text`)."""
        return self.frame.text if self.rest is None else self.rest

    def begin(self) -> None:
        """Count anew: another frame is read, or another event written."""
        self.visited = self.made = 0

    def forget(self) -> None:
        """Release the values of the last frame: a large frame is not kept until the next one."""
        self.message, self.item, self.frame, self.rest = None, None, _NO_FRAME, None

    def visit(self, items: int) -> None:
        """Count `items` of a list that are going to be looked at.

        Raises:
            MalformedEvent: they are more than one frame may cost.
        """
        self.visited += items
        if self.visited > MAX_VISITED:
            raise MalformedEvent("more items of lists than may be visited for one frame")

    def visit_text(self, text: str) -> None:
        """Count a text that is going to be searched. Raises the errors of `visit`."""
        if len(text) >= TEXT_PER_VISIT:
            self.visit(len(text) // TEXT_PER_VISIT)

    def make(self, size: int) -> None:
        """Count a text or container of so many bytes that is going to be made.

        Raises:
            MalformedEvent: more is made than one frame may become.
        """
        self.made += size
        if self.made > self.most:
            raise MalformedEvent("what is made of one frame is larger than allowed")

    def size_of(self, value: Any) -> int:
        """Return how many bytes of JSON a value is that may hold parts of the message many times.

        Raises:
            MalformedEvent: they are more than one frame may become.
        """
        return JsonSizes(self.most).of(value)


def _no_answer() -> None:
    return None


class Vocabulary(NamedTuple):
    """The names that exist at the place of an expression.

    Attributes:
        names: the names of `NAMES`.
        members: by name, the fields that it may have; of others nothing is known.
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
"""All names, with the meaning of each; the place of an expression decides which of them exist."""
