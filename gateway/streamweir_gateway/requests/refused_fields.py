"""Remembers that an upstream refuses a field of reasoning, because it would refuse later requests too.

    known    since the refusal (`note`), for `_SECONDS`; per model
    unknown  before, afterwards, and after a request without the field failed (`forget`)

Source: the conversation contract, section 4 (lost).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

__all__ = ["RefusedFields"]

_SECONDS: Final = 600.0
_MOST_MODELS: Final = 100
_LONGEST_WORDS: Final = 2000
"""The most characters of a refusal that are kept."""

_LONGEST_MODEL: Final = 200


class RefusedFields:
    """Remembers the words of an upstream's refusals, by the model of the request.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock: Final = clock
        self._known: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def note(self, model: str, words: str) -> None:
        """Remember a refusal. If there are too many models, forget the one that was noted first."""
        self._known.pop(model[:_LONGEST_MODEL], None)
        self._known[model[:_LONGEST_MODEL]] = (self._clock() + _SECONDS, words[:_LONGEST_WORDS])
        if len(self._known) > _MOST_MODELS:
            self._known.popitem(last=False)

    def words_for(self, model: str) -> str | None:
        """Return the words of the refusal that a request for `model` would get; None if unknown."""
        until, words = self._known.get(model[:_LONGEST_MODEL], (0.0, ""))
        return words if words and self._clock() < until else None

    def forget(self, model: str) -> None:
        """Forget the refusal for a model."""
        self._known.pop(model[:_LONGEST_MODEL], None)
