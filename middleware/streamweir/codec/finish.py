"""Reads a model's finish word in any dialect: a summary's finish reason, or the failure that it reports."""

from __future__ import annotations

from typing import Final

from streamweir.classification.finish_words import code_of_finish
from streamweir.errors import error_info
from streamweir.events import Error, Meta

__all__ = ["CUT_SHORT", "finish_error", "finish_with_calls"]

CUT_SHORT: Final = frozenset({"length", "content_filter"})
"""The finish reasons, in the standard's words, of a model that was stopped in the middle of its answer."""


def finish_with_calls(finish: object) -> str:
    """Return the finish reason of an answer with calls that the client is to run.

    Args:
        finish: the finish reason of the model, in the standard's words.

    Returns:
        `finish` if the model was stopped in the middle of its answer; `tool_calls` for all others. A model
        that has called tools often gives the reason `stop`.
    """
    return str(finish) if finish in CUT_SHORT else "tool_calls"


def finish_error(word: object, meta: Meta | None = None) -> Error | None:
    """Return the terminal error for a finish word that reports that the run broke off; None for other words.

    A decoder yields the error in place of the calls that it collected, because such a call may be incomplete.

    Args:
        word: `finish_reason`, `stop_reason`, `finishReason` or `done_reason`, as the server writes it.
        meta: the metadata of the event.
    """
    code = code_of_finish(word)
    if code is None:
        return None
    info = error_info(code)
    return Error(
        error_type=info.error_type,
        code=code,
        message=info.message,
        recoverable=info.recoverable,
        for_users=True,
        reason=info.reason,
        meta=meta,
    )
