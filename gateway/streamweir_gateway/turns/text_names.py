"""The names of the turns without calls in one conversation: equal texts after equal questions are counted.

A user who says "Yes." twice may get "Done." twice, with two signatures. The second of these turns has another
name than the first, so that it does not replace it in the store.
"""

from __future__ import annotations

from streamweir_gateway.turns.turn_names import TurnOwner

__all__ = ["TextNames"]


class TextNames:
    """Gives the names of texts, which must come in the order of the conversation.

    Args:
        owner: the endpoint and the client.
    """

    def __init__(self, owner: TurnOwner) -> None:
        self._owner = owner
        self._seen: dict[str, int] = {}
        """The number of texts so far under the name that a text has without repetition."""

    def names(self, text: str, asked: str) -> list[str]:
        """Return the names under which the turn with the next text may be stored, the most likely first.

        Args:
            text: the text of the turn.
            asked: the text of the user's last message before it.
        """
        first = self._owner.name_of_text(text, asked)
        repeats = self._seen.get(first, 0)
        self._seen[first] = repeats + 1
        # A client that sends the end of its conversation has fewer texts before this one than it had.
        return [self._owner.name_of_text(text, asked, repeats), first] if repeats else [first]

    def name_of_next(self, text: str, asked: str) -> str:
        """Return the name under which a turn is stored that follows all texts so far; it is not counted."""
        first = self._owner.name_of_text(text, asked)
        repeats = self._seen.get(first, 0)
        return self._owner.name_of_text(text, asked, repeats) if repeats else first
