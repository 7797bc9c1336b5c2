"""The framing that a client chooses by `Accept`, and the protocol that it chooses by header or query.

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
    "chooses_protocol",
    "expected_protocol",
]

PROTOCOL_HEADER: Final = b"x-streamweir-protocol"
PROTOCOL_QUERY: Final = "protocol"


class UnknownProtocolError(ConfigurationError):
    """The header names a protocol that is not one of the answers."""


def choose_protocol(headers: HeaderList, query: bytes, answers: Sequence[str]) -> str:
    """Return the protocol that the request chooses among `answers`; the first one if it chooses none.

    Another value in the query belongs to the application and is ignored.

    Raises:
        UnknownProtocolError: the header has a value that is not among `answers`.
    """
    named = {value.strip() for value in header_values(headers, PROTOCOL_HEADER)}
    if named:
        choice = named.pop()
        if named or choice not in answers:
            raise UnknownProtocolError(f"this endpoint answers in: {', '.join(answers)}")
        return choice
    asked = (value for name, value in _parameters(query) if name == PROTOCOL_QUERY)
    return next((value for value in asked if value in answers), answers[0])


def chooses_protocol(headers: HeaderList, query: bytes, answers: Sequence[str]) -> bool:
    """Return whether the request explicitly names one of `answers`, by the header or in the query."""
    if header_values(headers, PROTOCOL_HEADER):
        return True
    return any(name == PROTOCOL_QUERY and value in answers for name, value in _parameters(query))


def expected_protocol(
    headers: HeaderList, query: bytes, path: str, answers: Sequence[str], dialects: Dialects
) -> Dialect | None:
    """Return the protocol in which the client expects a refusal; None if unknown.

    Args:
        headers: the headers of the request.
        query: the query of the request.
        path: the path of the request.
        answers: the answers of the endpoint; empty if the client may not learn which endpoint there is.
        dialects: the set in which names are looked up.
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
