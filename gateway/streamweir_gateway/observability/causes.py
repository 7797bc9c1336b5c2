"""Describes the chain of exceptions behind a failure, as short texts for the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamweir.redaction import hide_credentials

__all__ = ["causes_of"]

MAX_CAUSES: Final = 8
CAUSE_CHARACTERS: Final = 300


def causes_of(error: BaseException) -> list[str]:
    """Return one text per exception, the outermost first: type and message, with credentials hidden.

    The chain is the one that Python's traceback shows: causes, contexts that are not suppressed, members of
    groups. At most `MAX_CAUSES` texts of `CAUSE_CHARACTERS` each are returned. Never raises.
    """
    return [_text(one) for one, _ in zip(_chain(error), range(MAX_CAUSES), strict=False)]


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(one.exceptions)
        behind = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        if behind is not None:
            waiting.append(behind)


def _text(error: BaseException) -> str:
    name = type(error).__qualname__
    try:
        message = str(error)
    except Exception:
        message = ""
    return hide_credentials(f"{name}: {message}" if message else name, limit=CAUSE_CHARACTERS)
