"""What the client asked for: its framing by `Accept`, its protocol by header or query.

Source: the standard protocol 1.1, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl

from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.errors import ConfigurationError
from streamweir.http.accept import accepts_any, choose_framing
from streamweir.http.headers import HeaderList, header_values

__all__ = [
    "PROTOCOL_HEADER",
    "PROTOCOL_QUERY",
    "UnknownProtocolError",
    "accepts_any",
    "choose_framing",
    "choose_protocol",
    "expected_protocol",
]

PROTOCOL_HEADER: Final = b"x-streamweir-protocol"
PROTOCOL_QUERY: Final = "protocol"


class UnknownProtocolError(ConfigurationError):
    """The client's header names a protocol that this endpoint does not answer in."""


def choose_protocol(headers: HeaderList, query: bytes, answers: Sequence[str]) -> str:
    """Return the one of `answers` that the request asks for; the first where it asks for none.

    A foreign value in the query is the application's own affair.

    Raises:
        UnknownProtocolError: the header holds another value.
    """
    named = {value.strip() for value in header_values(headers, PROTOCOL_HEADER)}
    if named:
        choice = named.pop()
        if named or choice not in answers:
            raise UnknownProtocolError(f"this endpoint answers in: {', '.join(answers)}")
        return choice
    asked = (value for name, value in _parameters(query) if name == PROTOCOL_QUERY)
    return next((value for value in asked if value in answers), answers[0])


def expected_protocol(
    headers: HeaderList, query: bytes, path: str, answers: Sequence[str], dialects: Dialects
) -> Dialect | None:
    """Return the protocol in which a client would understand a refusal; None where nothing tells.

    Args:
        headers: of the request.
        query: likewise.
        path: likewise.
        answers: of the endpoint; none where the client may not know what there is.
        dialects: in which names are looked up.
    """
    if not answers:
        return dialects.called_at(path)
    try:
        return dialects.to_write(choose_protocol(headers, query, answers))
    except UnknownProtocolError:
        return dialects.to_write(answers[0])


def _parameters(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        return []
