"""Asking for a stream on an event loop, asyncio's or trio's.

Source: the library contract, section 5; the standard protocol 1.1, sections 4 to 6; the contract of resumable
streams, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Final, NoReturn, Self

from streamweir.client.engine import StreamFacts, open_engine
from streamweir.client.http_request import AsyncClient, Body, LoopRequest
from streamweir.client.waits import LoopWaits
from streamweir.options.durations import Duration
from streamweir.options.timeouts import Timeouts
from streamweir.translation.received_event import ReceivedEvent

__all__ = ["StreamRequest", "stream_request"]


def stream_request(  # noqa: PLR0913 (the options are the documentation)
    url: str,
    *,
    method: str = "POST",
    json: Any = None,
    content: Body | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    speaks: str = "standard",
    timeouts: Timeouts | Mapping[str, Duration | None] | str | None = None,
    request_id: str | None = None,
    client: AsyncClient | None = None,
    raise_errors: bool = True,
    resume: bool | None = None,
) -> StreamRequest:
    """Return the events of the stream at `url`. Nothing is sent before the first event is asked for.

    Args:
        url: the address to ask.
        method: the HTTP method.
        json: the body, to be written as JSON.
        content: the body as it is, in the place of `json`.
        headers: sent with the request; they win over those that are sent by default.
        params: the query of the address.
        speaks: the dialect of the answer; `auto` finds it out.
        timeouts: `connect`, `first_event`, `idle`, `total`: seconds, or text such as `"5s"`; None or `"off"`
            turns one off. A clock not named keeps its default (5s, 60s, 120s, off). `resume` is how long it
            is tried to come back without an event (5m).
        request_id: sent as `X-Request-Id`; a new one if None.
        client: sends the request, and is left open.
        raise_errors: raise a `StreamRequestError` where the stream fails; else nothing is raised, and each
            failure arrives as an `error` and a `session_end`.
        resume: come back where the connection breaks: None where the answer names the run that it is one of,
            True with a handle of our own too, and after 45s of silence; False: never.

    Raises:
        ConfigurationError: an option has a value that it cannot have.
        UnknownDialectError: there is no decoder for `speaks`.
    """
    engine = open_engine(
        partial(LoopRequest, client),
        LoopWaits(),
        method,
        url,
        json=json,
        content=content,
        headers=headers,
        params=params,
        speaks=speaks,
        timeouts=timeouts,
        request_id=request_id,
        raise_errors=raise_errors,
        resume=resume,
    )
    return StreamRequest(engine)


class StreamRequest(StreamFacts):
    """The events of one stream: an async iterator and context manager that closes the connection."""

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
        """Stop the run, wherever it is made, and return its status: `cancelled`, unless it ended before.

        Raises:
            StreamRequestError: the server could not be asked, or does not know the run.
        """
        return await self._engine.cancel()

    def __iter__(self) -> NoReturn:
        raise TypeError(_NEEDS_LOOP)

    def __enter__(self) -> NoReturn:
        raise TypeError(_NEEDS_LOOP)

    def __exit__(self, *_: object) -> None:
        """Exist, for `with` looks for it first."""


_NEEDS_LOOP: Final = (
    "this stream is read with `async for` and `async with`; without an event loop use "
    "streamweir.client.sync.stream_request"
)
