"""A client's request that cannot be read, or that the upstream's dialect cannot take.

Source: the request contract, section 3 (refused before any upstream is asked).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.errors import StreamweirError

__all__ = ["RequestError"]

_STATUSES: Final = {"BAD_REQUEST": 400, "UNSUPPORTED_MEDIA_TYPE": 415, "REQUEST_TOO_LARGE": 413}


class RequestError(StreamweirError, ValueError):
    """Raised to refuse a request; the text is for the client's developer and never holds a value of the body.

    Args:
        problem: the fault, in words that follow the field's name if there is one: `must be a text`.
        field: the faulty field, as `messages[2].role`.
        code: one of the closed list: `BAD_REQUEST`, `UNSUPPORTED_MEDIA_TYPE`, `REQUEST_TOO_LARGE`.
        error: fields of the `error` object in the body of the client's protocol, for its official library.

    Attributes:
        status: the HTTP status of the code.
        code: the argument.
        field: the argument; None if the fault concerns the whole body.
        error: the argument.
    """

    def __init__(
        self,
        problem: str,
        *,
        field: str | None = None,
        code: str = "BAD_REQUEST",
        error: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{field} {problem}." if field else f"{problem[:1].upper()}{problem[1:]}.")
        self._problem = problem
        self.status = _STATUSES[code]
        self.code = code
        self.field = field
        self.error = error

    def for_client(self, names: Mapping[str, str]) -> RequestError:
        """Return a copy of the error in which the field has the name that the client's protocol uses.

        Args:
            names: maps the name of a canonical field to the client's name.
        """
        if self.field is None or self.field not in names:
            return self
        return RequestError(self._problem, field=names[self.field], code=self.code, error=self.error)
