"""One covered request whose stream, if its response is one, becomes a run.

Source: the contract of resumable streams, sections 2 and 6.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qsl

from streamweir.asgi.normalized_stream import NormalizedStream
from streamweir.asgi.response_interceptor import ResponseInterceptor
from streamweir.asgi.resumption.client_request import ClientRequest
from streamweir.asgi.resumption.kept_run import KeptRun, StopReason
from streamweir.asgi.resumption.kept_stream import KeptStream
from streamweir.asgi.resumption.registry import RunRegistry
from streamweir.asgi.resumption.run_response import RunResponse, Wanted
from streamweir.asgi.stream_factory import StreamFactory
from streamweir.codec.registry import process_dialects
from streamweir.emit.application_stream import ApplicationStream
from streamweir.errors import WARNINGS
from streamweir.http.headers import Headers
from streamweir.http.sending import ASGIApp, Scope, Send
from streamweir.metadata import unix_milliseconds
from streamweir.requests.conversation_names import conversation_names
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import parse_body
from streamweir.runs.event_log import EventLog
from streamweir.runs.run_reader import About
from streamweir.runs.stored_event import Source

__all__ = ["KeptExchange", "about_request"]

_LISTENING: Final = "2.3"
"""The last ASGI version in which applications listen for the disconnect, instead of waiting for `send`
to fail: nothing but `receive` can report the end of a run to one that is silent."""


class KeptExchange(ResponseInterceptor):
    """One request, its run and its first client.

    Args:
        registry: of the middleware.
        run: what its stream becomes.
        client: the client's side of the request.
        about: what the run was claimed with; None: it is claimed once there is a stream.
        options: those of the interceptor.
    """

    def __init__(
        self,
        registry: RunRegistry,
        run: KeptRun,
        client: ClientRequest,
        about: About | None,
        *,
        options: StreamFactory,
        scope: Scope,
        send: Send,
        **rest: Any,
    ) -> None:
        asgi = {**scope.get("asgi", {}), "spec_version": _LISTENING}
        rest["receive"] = client.receive
        super().__init__(options, scope={**scope, "asgi": asgi}, send=send, **rest)
        self._registry: Final = registry
        self._run: Final = run
        self._client: Final = client
        self._about = about
        self._claimed: Final = about is not None
        self._kept: KeptStream | None = None
        self._framing = "sse"
        self._delivery: asyncio.Task[None] | None = None
        self._care: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None

    async def run(self, app: ASGIApp, *, reraise: bool) -> None:
        """Let `app` answer the request, and the client have all of it."""
        if self._claimed:
            self._client.is_kept = self._run.owned.detached is None
            self._look_after()
            self._waiting = asyncio.create_task(self._wait_with_client())
        try:
            await super().run(app, reraise=reraise)
            if self._delivery is not None:
                await self._delivery
        except BaseException:
            await asyncio.shield(self._break_off())
            raise
        finally:
            await self._let_go()

    async def _break_off(self) -> None:
        """Let a run that is not over end, for those who read it elsewhere too."""
        if self._kept is not None and not self._kept.is_over:
            await self._kept.end(lambda events: events.fail("GATEWAY_DRAINING"))

    async def _wait_with_client(self) -> None:
        """Count the client as a reader while there is nothing to read yet."""
        owned = self._run.owned
        owned.readers += 1
        try:
            await self._client.watch()
        finally:
            owned.readers -= 1

    async def _let_go(self) -> None:
        for task in (self._delivery, self._care, self._waiting):
            if task is not None and not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        self._registry.under_way.pop(self._run.name, None)
        if self._claimed and self._kept is None:
            await self._run.owned.forget()  # the answer is no stream

    # The run

    def _make_stream(self, events: ApplicationStream, **options: Any) -> NormalizedStream:
        translator = events.translator
        self._framing = translator.framing
        self._run.log = EventLog(lambda: Source(translator.speaks, self._options.protocol_options))
        translator.write_to(self._run.log)
        self._kept = KeptStream(events, self._run, begin=self._begin_run, **options)
        return self._kept

    async def _begin_run(self) -> None:
        """Put the run into the store, if it is not there, and let its first client read it."""
        assert self._kept is not None
        run = self._run
        if self._about is None:
            self._about = about_request(
                self._scope,
                self._client,
                protocol=self._answers,
                framing=self._framing,
                request_id=self._request_id,
                ttl=self._registry.resume.ttl,
                handle=run.handle if self._registry.resume.find else None,
            )
            await run.claim(self._about)
            self._look_after()
        if self._registry.resume.find:
            await run.note_request(self._request_id, self._names())
        is_kept = run.owned.detached is None
        self._client.is_kept = is_kept
        if not is_kept:
            self._kept.translator.warn(WARNINGS["RESUME_UNAVAILABLE"].message, "RESUME_UNAVAILABLE")
        response = self._response(self._about, self._kept, is_kept=is_kept)  # reads from here on
        self._delivery = asyncio.create_task(response.deliver(self._client))
        if self._waiting is not None:
            self._waiting.cancel()

    def _names(self) -> dict[str, str]:
        """Return what the client calls its conversation."""
        if self._scope["method"] == "GET":
            query = self._scope.get("query_string", b"").decode("latin-1")
            body: Mapping[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
        else:
            try:
                body = parse_body(self._client.take_body())
            except RequestError:
                return {}
        return conversation_names(body, process_dialects().to_write(self._answers).request_reader)

    def _response(self, about: About, stream: KeptStream, *, is_kept: bool) -> RunResponse:
        """Return what the first client gets."""
        run, registry = self._run, self._registry

        def headers(handle: str | None) -> Headers:
            return [*stream.client_headers, *(() if handle is None else registry.headers(handle))]

        return RunResponse(
            registry.store,
            run.name,
            about,
            Wanted(self._answers, self._framing),
            handle=run.handle if is_kept else None,
            headers=headers,
            send=self._send,
            heartbeat=self._options.heartbeat,
            owned=run.owned,
            is_first=True,
            failure=lambda: stream.failure,
        )

    def _look_after(self) -> None:
        self._registry.under_way[self._run.name] = self._run
        self._care = asyncio.create_task(self._run.look_after(self._end, self._abandon))

    async def _end(self, reason: StopReason) -> None:
        """End the run, and let the application know at once."""
        if self._kept is not None:
            await self._kept.end(lambda events: events.cancel(reason))
        self._listening.release()

    def _abandon(self) -> None:
        if self._kept is not None:
            self._kept.abandon()
        self._listening.release()


def about_request(
    scope: Scope,
    client: ClientRequest,
    *,
    protocol: str,
    framing: str,
    request_id: str,
    ttl: float,
    handle: str | None,
) -> About:
    """Return what a run is claimed with."""
    path: str = scope["path"]
    return About(
        endpoint=path,
        path=hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        body=client.body_digest,
        protocol=protocol,
        framing=framing,
        request_id=request_id,
        started_at=unix_milliseconds(),
        ttl=ttl,
        handle=handle,
    )
