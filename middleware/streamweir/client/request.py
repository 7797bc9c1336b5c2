"""Asks for a stream on an event loop (asyncio or trio).

Source: the library contract, section 5; the standard protocol 1.1, sections 4 to 6; the contract of resumable
streams, section 6.
"""

from __future__ import annotations

from functools import partial
from types import TracebackType
from typing import Final, NoReturn, Self, Unpack

from streamweir.client.engine import StreamFacts, open_engine
from streamweir.client.http_request import AsyncClient, Body, LoopRequest
from streamweir.client.request_options import PARAMETERS, REQUEST_DEFAULTS, RequestOptions
from streamweir.client.waits import LoopWaits
from streamweir.options.signatures import checked, spells_out
from streamweir.translation.received_event import ReceivedEvent

__all__ = ["StreamRequest", "stream_request"]


@spells_out(RequestOptions, REQUEST_DEFAULTS, order=PARAMETERS)
def stream_request(
    url: str,
    *,
    content: Body | None = None,
    client: AsyncClient | None = None,
    **options: Unpack[RequestOptions],
) -> StreamRequest:
    """Return the events of the stream at `url`. The request is sent when the first event is asked for.

    Args:
        url: the URL to request.
        content: the body as bytes or text, instead of `json`.
        client: the httpx client that sends the request; it is left open.
        options: `method`, `json`, `headers`, `params`, `speaks`, `timeouts`, `request_id`, `raise_errors`,
            `resume`: see `RequestOptions`.

    Raises:
        ConfigurationError: an option has an invalid value.
        UnknownDialectError: there is no decoder for `speaks`.
    """
    given = checked(options, REQUEST_DEFAULTS)
    return StreamRequest(
        open_engine(partial(LoopRequest, client), LoopWaits(), url, content=content, **given)
    )


class StreamRequest(StreamFacts):
    """The events of one stream: an async iterator, and a context manager that closes the connection."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ReceivedEvent:
        return await self._engine.next()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection, also while another task is reading: its iteration then ends."""
        await self._engine.aclose()

    async def cancel(self) -> str:
        """Stop the run, in whatever process it is made, and return its status: `cancelled`, unless the run
        ended before.

        Raises:
            StreamRequestError: the server could not be asked, or does not know the run.
        """
        return await self._engine.cancel()

    def __iter__(self) -> NoReturn:
        raise TypeError(_NEEDS_LOOP)

    def __enter__(self) -> NoReturn:
        raise TypeError(_NEEDS_LOOP)

    def __exit__(self, *_: object) -> None:
        """Do nothing: `with` needs the method to exist."""


_NEEDS_LOOP: Final = (
    "this stream is read with `async for` and `async with`; without an event loop use "
    "streamweir.client.sync.stream_request"
)
