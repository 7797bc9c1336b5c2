"""Reads how RAGFlow reports that a run failed: by a code, or by words in the answer."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from streamweir.codec.coerce import text_of, upstream_error
from streamweir.events import Error, Meta, SessionEnd

__all__ = ["AnswerLine", "ErrorInText", "error_in_text", "failed", "failure", "was_cancelled"]

_STATUSES: Final = {101: 400, 102: 400, 103: 400, 108: 403, 109: 401}
"""The HTTP status that each of RAGFlow's codes means. 100 and 500 may be any exception: words decide."""

_MODEL_CODES: Final = {
    "RATE_LIMIT_EXCEEDED": "RATE_LIMITED",
    "AUTH_ERROR": "AUTH_FAILED",
    "INVALID_REQUEST": "UPSTREAM_REJECTED",
    "TIMEOUT": "UPSTREAM_TIMEOUT",
    "CONTENT_FILTERED": "CONTENT_FILTERED",
    "QUOTA_EXCEEDED": "QUOTA_EXCEEDED",
}
"""The codes of `LLMErrorCode` in `rag/llm/chat_model.py`, except those that mean only "error"."""

_ERROR: Final = re.compile(r"(?:\A\s*+|\n[^\S\n]*+)\*\*ERROR\*\*: ?")
_LONGEST_MARK: Final = 16
"""The most characters of a line that are kept while the line may still become the mark."""

_MODEL_CODE: Final = re.compile(r"([A-Z_]{3,64}) - ")
_CANCELLED: Final = re.compile(r"\bTask\b.{0,80}\bhas been cancell?ed\b", re.DOTALL)


class ErrorInText(NamedTuple):
    """A failure within the answer: the text before the failure, and the event of the failure."""

    before: str
    error: Error


def failed(code: Any) -> bool:
    """Return whether `code` is set and differs from success."""
    return code != 0 if type(code) is int else text_of(code) not in ("", "0", "false")


def failure(message: Any, code: Any, meta: Meta | None) -> Error | SessionEnd:
    """Return the event for a frame with a code: an error if the run failed, or the end if it was stopped."""
    text = text_of(message)
    if was_cancelled(text):
        return SessionEnd("cancelled", meta=meta)
    number = int(text_of(code)) if text_of(code).isdecimal() and len(text_of(code)) < 4 else 0
    status = _STATUSES.get(number, number if 400 <= number < 600 and number != 500 else None)
    if found := error_in_text(text, meta):
        return found.error
    return upstream_error(text, status=status, meta=meta)


def was_cancelled(value: Any) -> bool:
    """Return whether `value` has the words for a run that was stopped on request."""
    return isinstance(value, str) and bool(_CANCELLED.search(value))


class AnswerLine:
    """Finds a failure in an answer that arrives in pieces, even if its mark is cut in two."""

    def __init__(self) -> None:
        self._line = ""

    def accepts_text(self, piece: str) -> bool:
        """Note a piece; return False if a failure may begin or continue in it."""
        if "*" in piece or "*" in self._line:
            return False
        self._line = (self._line + piece).rpartition("\n")[2][:_LONGEST_MARK]
        return True

    def failure_in(self, piece: str, meta: Meta | None) -> ErrorInText | None:
        """Return the failure that begins in `piece`, or in a line that `piece` continues."""
        line = self._line
        whole = line + piece
        self._line = whole.rpartition("\n")[2][:_LONGEST_MARK]
        found = error_in_text(piece, meta)
        if found is None and (found := error_in_text(whole, meta)):
            return found._replace(before=found.before[len(line) :])
        return found


def error_in_text(text: str, meta: Meta | None) -> ErrorInText | None:
    """Return the failure in a text, at its beginning or at the beginning of one of its lines."""
    mark = _ERROR.search(text) if "**ERROR**" in text else None
    if mark is None:
        return None
    words = text[mark.end() :]
    code = _MODEL_CODE.match(words)
    error = upstream_error(words, code=_MODEL_CODES.get(code[1]) if code else None, meta=meta)
    return ErrorInText(text[: mark.start()], error)
