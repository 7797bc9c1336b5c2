"""The answer that the body of a request asks for: streamed or whole, and the client's names to repeat in it.

The gateway, the middleware and `receive_request` all use this module.

Source: the standard protocol 1.1, section 4; the request contract, section 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from streamweir.codec.client_names import NO_NAMES, ClientNames, client_names
from streamweir.codec.dialect import Dialect
from streamweir.framing import FramingChoice
from streamweir.http.accept import StreamFraming
from streamweir.http.headers import HeaderList, header_value
from streamweir.http.stream_choice import asks_for_stream, wants_no_stream
from streamweir.requests.openai_chat import asks_for_usage

__all__ = ["AskedAnswer", "asked_framing", "asked_names"]

_LONGEST_HEADER: Final = 256


class AskedAnswer(NamedTuple):
    """The answer that a request asks for, once its body has been read.

    Attributes:
        protocol: the protocol of the client.
        body: the body of the client's request.
        names: the client's names, which the answer repeats.
    """

    protocol: Dialect
    body: Mapping[str, Any]
    names: ClientNames

    @classmethod
    def of(cls, protocol: Dialect, body: Mapping[str, Any], headers: HeaderList, written: Any) -> AskedAnswer:
        """Return the answer that a mapped request asks for; `written`: the body made for the upstream."""
        names = asked_names(protocol, body, headers)
        if protocol.asks_for_usage and asks_for_usage(written) and not asks_for_usage(body):
            names = names._replace(hides_usage=True)
        return cls(protocol, body, names)


def asked_framing(
    protocol: Dialect, body: Mapping[str, Any], accept: str, chosen: FramingChoice, usual: StreamFraming
) -> FramingChoice:
    """Return the framing of the answer to a request whose body has been read.

    Args:
        protocol: the protocol of the client.
        body: the body of the request.
        accept: the header `Accept`.
        chosen: the framing that `accept` asks for.
        usual: the framing of a stream if `accept` asks for none.
    """
    if protocol.asks_by_body:
        wanted = asks_for_stream(body, accept)
    else:
        wanted = False if wants_no_stream(body) else None
    if wanted is None or wanted == (chosen != "json"):
        return chosen
    return usual if wanted else "json"


def asked_names(protocol: Dialect, body: Mapping[str, Any], headers: HeaderList) -> ClientNames:
    """Return the client's own names in a request: in its body, and in headers that the protocol names.

    They include the values that the answer repeats.
    """
    if not protocol.request_names:
        return NO_NAMES
    names = client_names(body, protocol.request_names, protocol.echoed_fields)
    for name, header in protocol.request_headers.items():
        given = header_value(headers, header)[:_LONGEST_HEADER]
        both: Any = ",".join(filter(None, (getattr(names, name), given)))
        names = names._replace(**{name: both})
    return names
