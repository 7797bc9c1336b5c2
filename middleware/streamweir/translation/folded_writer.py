"""A stream as one JSON object, written at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from streamweir.events import Content, Event, Stamp, Thinking
from streamweir.framing import MEDIA_TYPES, FramingChoice
from streamweir.jsontext import write_json
from streamweir.translation.fold import LIMIT, Fold

__all__ = ["FoldedWriter"]


class FoldedWriter:
    """Writes the folded result of a stream.

    Args:
        request_id: of the stream.
        limit: the most bytes that it may have.

    Attributes:
        framing: `json`.
        unsupported: nothing, ever; as for `StreamWriter`.
        added: likewise.
    """

    def __init__(self, request_id: str, *, limit: int = LIMIT) -> None:
        self.framing: FramingChoice = "json"
        self.media_type = MEDIA_TYPES["json"]
        self.unsupported: Counter[str] = Counter()
        self.added = 0
        self._fold = Fold(request_id, limit=limit)
        self._out = b""

    @property
    def has_answer(self) -> bool:
        """Anything but a failure has been written."""
        return self._fold.has_answer

    def take(self) -> bytes:
        """Return the folded result once it is written, and nothing before and after."""
        out, self._out = self._out, b""
        return out

    def write(self, event: Event, stamp: Stamp) -> None:
        """Keep `event`.

        Raises:
            LimitExceeded: the stream is too large to be one answer.
        """
        del stamp
        self._fold.add(event)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Keep pieces of text.

        Raises:
            LimitExceeded: the stream is too large to be one answer.
        """
        self.write(event.with_text("".join(texts)), stamp)

    def finish(self) -> None:
        """Write the folded result."""
        self._out = write_json(self._fold.result()) + b"\n"

    def heartbeat(self) -> bytes:
        """Return nothing: the answer's status is not known before its end."""
        return b""
