"""What a stream has lost on its way, reported in warnings when it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from streamweir.events import Warning
from streamweir.stages import TextDeduplication

__all__ = ["MAX_REPORTED_MALFORMED", "ConversionReport"]

MAX_REPORTED_MALFORMED: Final = 10
"""So many malformed events are reported one by one; of others the number, at the end."""


class ConversionReport:
    """Counts what could not be read, and knows who counts what could not be said.

    Args:
        unsupported: by a word for each kind, how many events the client's protocol could not say.
        messages: leaves out text that contradicts what was sent, where the client cannot replace it.

    Attributes:
        malformed: how many events could not be read.
    """

    def __init__(self, unsupported: Counter[str], messages: TextDeduplication) -> None:
        self.malformed = 0
        self._unsupported = unsupported
        self._messages = messages

    @property
    def unsupported(self) -> int:
        """How much could be read, but not be said."""
        return self._unsupported.total() + self._messages.left_out

    def warnings(self) -> Iterator[Warning]:
        """Yield what is to be reported at the end."""
        untold = self.malformed - MAX_REPORTED_MALFORMED
        if untold > 0:
            yield Warning(
                message=f"{untold} more parts of the answer could not be read and were left out.",
                message_code="UPSTREAM_MALFORMED_EVENT",
                for_users=True,
            )
        unsupported = {**self._unsupported}
        if self._messages.left_out:
            unsupported["replaced text"] = unsupported.get("replaced text", 0) + self._messages.left_out
        if unsupported:
            reported = ", ".join(f"{number} x {kind}" for kind, number in sorted(unsupported.items()))
            yield Warning(
                message=f"This protocol could not carry: {reported}.",
                message_code="LOSSY_CONVERSION",
                for_users=True,
            )
