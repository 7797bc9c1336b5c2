"""Streams of an application become streams of the standard protocol, or of another that its client asks for.

Source: the library contract, section 1; the standard protocol 1.1, sections 2 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from streamweir.asgi.response_interceptor import ResponseInterceptor
from streamweir.asgi.stream_options import StreamFraming, StreamOptions, TimeoutOptions
from streamweir.context import WarningCollector
from streamweir.errors import ConfigurationError
from streamweir.http.headers import header_value, replaced, settled_request_id
from streamweir.http.negotiation import UnknownProtocolError, accepts_any, choose_protocol
from streamweir.http.ownership import hand_down
from streamweir.http.paths import PathPatterns, Paths
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.sending import ASGIApp, Receive, Scope, Send
from streamweir.options.durations import Duration
from streamweir.options.limits import Limits
from streamweir.options.timeouts import HEARTBEAT
from streamweir.stages import FullText
from streamweir.translation.reader import EndOfBody

if TYPE_CHECKING:
    from streamweir.asgi.resumption.resumption import Exchange, Resumption
    from streamweir.asgi.resumption.runs_app import RunsApp
    from streamweir.runs.options import Resume
    from streamweir.runs.store import RunStore

__all__ = ["STREAM_TYPES", "NormalizeMiddleware"]

STREAM_TYPES: Final = ("text/event-stream", "application/x-ndjson")


class NormalizeMiddleware:
    """Reads the streams of an application in the dialect that it speaks, and answers in a protocol.

    A response is touched if its status is 200, its type one of `media_types` and its path covered; everything
    else passes message by message. A failure of the application becomes the proper end of a stream.

    Args:
        app: the ASGI application to wrap.
        speaks: the dialect of its streams; `auto` finds it out, and lets through what no dialect claims.
        answers: the protocols that a client may choose from; the first is the default.
        paths: patterns (`/chat`, `/agents/{id}/run`, `/agent/*`), one or several; None: every path. Where
            they are given the application is asked not to compress, and its failures are always answered.
        media_types: the content types of responses that are streams.
        framing: `sse` or `ndjson` where `Accept` leaves it open; None for the framing of the application.
        heartbeat: the longest silence, in seconds or as text such as `"15s"`, before bytes that say nothing
            are sent; `None` or `"off"` sends none.
        timeouts: `first_event`, `idle`, `total`, in seconds or as text; what is not named never runs out.
        full_text: what becomes of text that repeats the whole answer: `dedupe` sends what is new in it,
            `append` sends all of it again, `replace` sends all of it as a replacement.
        stream_tool_arguments: send the pieces of a tool call's arguments as well (`tool_call_delta`).
        protocol_options: by dialect, the options that it has when it is read or written.
        raw: add what the application sent for each event, as `metadata.source`.
        eof: what it means that the application's body ends cleanly without the end of its dialect:
            `truncated`, or `complete` for one that never says its end.
        verbatim: where a client asks for the very dialect that the application speaks, in the same framing,
            let its frames through as they came; False: write them anew.
        limits: how much a stream may take: a `Limits`, or a mapping with its names.
        warnings: sent right after `session_start`: messages, or mappings with `message`, `message_code`.
        debug: add details to errors and warnings, redacted; for trusted clients only.
        reraise: raise the application's exception again once the response is complete, for error trackers.
        resume: keep the streams, so that clients read on where they stopped; needs asyncio.
        store: where they are kept; None: in a memory store of its own.

    Raises:
        UnknownDialectError: nobody reads `speaks` or writes one of `answers`.
        ConfigurationError: another option has a value that it cannot have.
    """

    def __init__(  # noqa: PLR0913 (the keyword-only options are the contract of the library)
        self,
        app: ASGIApp,
        *,
        speaks: str,
        answers: str | Sequence[str] = ("standard",),
        paths: Paths = None,
        media_types: str | Sequence[str] = STREAM_TYPES,
        framing: StreamFraming | None = None,
        heartbeat: Duration | None = HEARTBEAT,
        timeouts: TimeoutOptions = None,
        full_text: FullText = "dedupe",
        stream_tool_arguments: bool = False,
        protocol_options: Mapping[str, Mapping[str, Any]] | None = None,
        raw: bool = False,
        eof: EndOfBody = "truncated",
        verbatim: bool = True,
        limits: Limits | Mapping[str, Any] | None = None,
        warnings: Sequence[str | Mapping[str, Any]] = (),
        debug: bool = False,
        reraise: bool = False,
        resume: Resume | None = None,
        store: RunStore | None = None,
    ) -> None:
        self.app = app
        self._paths = PathPatterns(paths)
        self._reraise = reraise
        self._options = StreamOptions(
            answers=answers,
            media_types=media_types,
            framing=framing,
            heartbeat=heartbeat,
            timeouts=timeouts,
            translation={
                "speaks": speaks,
                "full_text": full_text,
                "stream_tool_arguments": stream_tool_arguments,
                "protocol_options": protocol_options,
                "raw": raw,
                "eof": eof,
                "verbatim": verbatim and resume is None,
                "limits": limits,
                "warnings": warnings,
                "debug": debug,
            },
        )

        self._resumption: Resumption | None = None
        self._runs: RunsApp | None = None
        if resume is not None:
            self._keep_runs(resume, store)
        elif store is not None:
            raise ConfigurationError("store is nothing without resume")

    def _keep_runs(self, resume: Resume, store: RunStore | None) -> None:
        from streamweir.asgi.resumption.resumption import Resumption  # noqa: PLC0415 (it loads asyncio)
        from streamweir.asgi.resumption.runs_app import RunsApp  # noqa: PLC0415 (likewise)

        self._resumption = Resumption(resume, store, self._options)
        self._runs = RunsApp(self._resumption)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if self._runs is not None and scope["type"] == "http" and self._runs.serves(scope["path"]):
            await self._runs(scope, receive, send)
            return
        if scope["type"] != "http" or scope["method"] == "HEAD" or not self._paths.cover(scope["path"]):
            await self.app(scope, receive, send)
            return
        request_id = settled_request_id(scope)
        try:
            answers = choose_protocol(scope["headers"], scope.get("query_string", b""), self._options.answers)
        except UnknownProtocolError as error:
            refusal = Refusal("BAD_REQUEST", f"X-Streamweir-Protocol: {error}.")
            await send_refusal(send, refusal, request_id=request_id)
            return
        exchange: Exchange = ResponseInterceptor
        if self._resumption is not None:
            admitted = await self._resumption.admit(
                scope, receive, send, answers=answers, request_id=request_id
            )
            if admitted is None:
                return
            exchange, receive = admitted
        await self._serve(exchange, scope, receive, send, answers, request_id)

    def covers_failures(self, scope: Scope) -> bool:
        """Return whether a failure of this request, before its response, is answered with a stream."""
        if not self._paths.cover(scope["path"]):
            return False
        accept = header_value(scope["headers"], b"accept")
        return self._paths.are_given or accepts_any(accept, self._options.media_types)

    async def _serve(
        self,
        make_exchange: Exchange,
        scope: Scope,
        receive: Receive,
        send: Send,
        answers: str,
        request_id: str,
    ) -> None:
        inner, ownership = hand_down(scope)
        if self._paths.are_given:
            inner["headers"] = replaced(scope["headers"], b"accept-encoding", "identity")
        collector = ownership.outer_collector
        is_ours = collector is None
        if collector is None:
            collector = WarningCollector(request_id, debug=self._options.debug)
        ownership.collector = collector
        exchange = make_exchange(
            options=self._options,
            answers=answers,
            request_id=request_id,
            scope=inner,
            receive=receive,
            send=send,
            ownership=ownership,
            collector=collector,
            owns_collector=is_ours,
            is_covered=self.covers_failures(scope),
        )
        with collector.bound() if is_ours else nullcontext():
            try:
                await exchange.run(self.app, reraise=self._reraise)
            finally:
                if is_ours:
                    collector.close()
