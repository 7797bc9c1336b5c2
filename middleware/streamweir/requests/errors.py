"""A client's request that cannot be read, or that the upstream's dialect cannot take.

Source: the request contract, section 3 (refused before any upstream is asked).
"""

from __future__ import annotations

from typing import Final

from streamweir.errors import StreamweirError

__all__ = ["RequestError"]

_STATUSES: Final = {"BAD_REQUEST": 400, "UNSUPPORTED_MEDIA_TYPE": 415, "REQUEST_TOO_LARGE": 413}


class RequestError(StreamweirError, ValueError):
    """A request is refused; the text is for the client's developer and never holds a value of the body.

    Args:
        problem: what is wrong, behind the field's name if there is one: `must be a text`.
        field: what is wrong, as `messages[2].role`.
        code: of the closed list: `BAD_REQUEST`, `UNSUPPORTED_MEDIA_TYPE`, `REQUEST_TOO_LARGE`.

    Attributes:
        status: of HTTP that stands for the code.
        code: as given.
        field: as given; None where it is the whole body.
    """

    def __init__(self, problem: str, *, field: str | None = None, code: str = "BAD_REQUEST") -> None:
        super().__init__(f"{field} {problem}." if field else f"{problem[:1].upper()}{problem[1:]}.")
        self.status = _STATUSES[code]
        self.code = code
        self.field = field
