"""Questions that a recording cannot answer, for a person who knows the backend."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Question"]


class Question(NamedTuple):
    """One question about a recording.

    Attributes:
        about: the name of the frames, or the field.
        question: the text, which ends in a question mark.
    """

    about: str
    question: str

    def as_json(self) -> dict[str, str]:
        """Return the JSON form of the question, for `--json`."""
        return {"about": self.about, "question": self.question}
