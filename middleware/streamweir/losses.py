"""What a stream has lost on its way, told in warnings when it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from streamweir.events import Warning
from streamweir.stages import Messages

__all__ = ["TOLD_MALFORMED", "Losses"]

TOLD_MALFORMED: Final = 10
"""So many malformed events are told one by one; of others the number, at the end."""


class Losses:
    """Counts what could not be read, and knows who counts what could not be said.

    Args:
        unsaid: by a word for each kind, how many events the client's protocol could not say.
        messages: leaves out text that contradicts what was sent, where the client cannot replace it.

    Attributes:
        malformed: how many events could not be read.
    """

    def __init__(self, unsaid: Counter[str], messages: Messages) -> None:
        self.malformed = 0
        self._unsaid = unsaid
        self._messages = messages

    @property
    def unsaid(self) -> int:
        """How much could be read, but not be said."""
        return self._unsaid.total() + self._messages.left_out

    def warnings(self) -> Iterator[Warning]:
        """Yield what is to be told at the end."""
        untold = self.malformed - TOLD_MALFORMED
        if untold > 0:
            yield Warning(
                message=f"{untold} more parts of the answer could not be read and were left out.",
                message_code="UPSTREAM_MALFORMED_EVENT",
                for_users=True,
            )
        unsaid = {**self._unsaid}
        if self._messages.left_out:
            unsaid["replaced text"] = unsaid.get("replaced text", 0) + self._messages.left_out
        if unsaid:
            told = ", ".join(f"{number} x {kind}" for kind, number in sorted(unsaid.items()))
            yield Warning(
                message=f"This protocol could not carry: {told}.",
                message_code="LOSSY_CONVERSION",
                for_users=True,
            )
