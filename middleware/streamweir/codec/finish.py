"""The finish word of a model in one dialect: what a summary keeps of it, or the failure that it says."""

from __future__ import annotations

from streamweir.classification.finish_words import code_of_finish
from streamweir.errors import error_info
from streamweir.events import Error, Meta

__all__ = ["finish_error"]


def finish_error(word: object, meta: Meta | None = None) -> Error | None:
    """Return the terminal error of a finish word that says that the run broke off; None for other words.

    A decoder yields it in place of the calls that it collected: a call that was being written is not sent.

    Args:
        word: `finish_reason`, `stop_reason`, `finishReason` or `done_reason`, as the server writes it.
        meta: of the event.
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
