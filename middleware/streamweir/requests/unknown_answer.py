"""The refusal of an answer to a question that is not open in the client's conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamweir.requests.errors import RequestError

__all__ = ["unknown_answer"]


def unknown_answer(body: Mapping[str, Any], answer_id: str) -> RequestError:
    """Return the refusal of an answer; `field` is the path of the id in the client's body.

    Args:
        body: the body of the client's request.
        answer_id: the id that the answer names.
    """
    place = next(_places(body, answer_id), "resume") if answer_id else "resume"
    resume = "" if place.startswith("resume") else " (`resume`)"
    return RequestError(f"answers an interaction that is not known here{resume}", field=place)


def _places(body: Mapping[str, Any], text: str) -> Iterator[str]:
    """Yield the paths of a text in a body, the last one first because answers are at the end."""
    waiting: list[tuple[str, Any]] = [("", body)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{place}.{name}" if place else str(name), item) for name, item in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{place}[{index}]", item) for index, item in enumerate(value)]
        elif value == text and _is_plain(place):
            yield place


def _is_plain(place: str) -> bool:
    """Return whether a path has only plain names: a name that the client made up could contain any text."""
    return (
        len(place) <= 200
        and place.replace("_", "").replace(".", "").replace("[", "").replace("]", "").isalnum()
    )
