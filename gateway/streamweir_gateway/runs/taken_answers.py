"""Handles answers to questions that an upstream takes without opening a stream.

The run goes on in the connection that asked the question.

Source: the request contract, section 4 (an upstream that takes an answer); the standard protocol, section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from streamweir.errors import StreamweirError
from streamweir.events import Error, Event, SessionEnd
from streamweir.framing import MEDIA_TYPES
from streamweir.stages.answers import is_answer
from streamweir.translation.items import events_of
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.reader import StreamReader
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["take_answer"]

_LARGEST: Final = 1 << 20
_STREAMS: Final = frozenset(
    media_type.partition(";")[0] for name, media_type in MEDIA_TYPES.items() if name != "json"
)


async def take_answer(
    response: UpstreamResponse, stream: StreamNormalizer, reader: Callable[[], StreamReader]
) -> bool:
    """End `stream` if the upstream has taken the client's answer without opening a stream.

    A JSON document that the dialect reads as an answer, a failure or a stopped run is the whole stream.

    Args:
        response: the response of the upstream; its body has not been read.
        stream: the stream to the client; a failure in the body ends it too.
        reader: makes a reader of the upstream's dialect.

    Returns:
        False, and nothing was read, if the response may be a stream or is an error.
    """
    if not _may_be_taken(response):
        return False
    body = await _document(response)
    if body is None or _holds_reply(body, reader()):
        stream.feed(body or b"")
        stream.close()
    else:
        stream.end_taken()
    return True


def _may_be_taken(response: UpstreamResponse) -> bool:
    types = response.values_of("content-type")
    essence = types[0].partition(b";")[0].strip().lower().decode("latin-1") if types else ""
    return 200 <= response.status < 300 and essence not in _STREAMS


async def _document(response: UpstreamResponse) -> bytes | None:
    """Return the body of a response; None if it is too large for a document."""
    body = bytearray()
    while data := await response.read():
        body += data
        if len(body) > _LARGEST:
            return None
    return bytes(body)


def _holds_reply(body: bytes, reader: StreamReader) -> bool:
    """Return whether a body is not a JSON document, or says more than that an answer was taken."""
    if not body.strip():
        return False
    if not body.lstrip().startswith((b"{", b"[")):
        return True
    try:
        events = [*events_of(reader.feed(body)), *events_of(reader.close()), *reader.conclude()]
    except StreamweirError:
        return True
    return reader.malformed > 0 or any(map(_is_reply, events))


def _is_reply(event: Event) -> bool:
    match event:
        case Error():
            return True
        case SessionEnd():
            return event.status != "completed"
    return is_answer(event)
