"""Asks for a stream over HTTP and reads it event by event. Needs httpx: the extra `client`.

    async with stream_request("https://example.org/chat", json={"message": "Hi"}) as events:
        async for event in events:
            ...

It works on asyncio and trio. Redirects are not followed. Unless the caller passes a client, proxy variables
and `.netrc` are ignored.
"""

from streamweir.client.request import StreamRequest, stream_request
from streamweir.options.timeouts import Timeouts
from streamweir.request_errors import (
    ConnectionFailed,
    RequestRejected,
    RequestTimeout,
    StreamFailed,
    StreamRequestError,
    StreamTruncated,
)
from streamweir.translation.received_event import EventMetadata, ReceivedEvent

__all__ = [
    "ConnectionFailed",
    "EventMetadata",
    "ReceivedEvent",
    "RequestRejected",
    "RequestTimeout",
    "StreamFailed",
    "StreamRequest",
    "StreamRequestError",
    "StreamTruncated",
    "Timeouts",
    "stream_request",
]
