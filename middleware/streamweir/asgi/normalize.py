"""Middleware that translates the streams of an application to the protocol that a client asks for.

Source: the library contract, section 1; the standard protocol 1.1, sections 2 to 5.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Unpack, cast

from streamweir.asgi.mapped_app import MappedApp
from streamweir.asgi.normalize_options import NORMALIZE_DEFAULTS, NormalizeOptions, stream_options_in
from streamweir.asgi.request_mapping import request_mapping
from streamweir.asgi.response_interceptor import ResponseInterceptor
from streamweir.asgi.stream_factory import StreamFactory
from streamweir.context import WarningCollector
from streamweir.errors import ConfigurationError
from streamweir.http.headers import header_value, replaced, settled_request_id
from streamweir.http.negotiation import UnknownProtocolError, accepts_any, choose_protocol
from streamweir.http.ownership import hand_down, offer_runs
from streamweir.http.paths import PathPatterns
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.sending import ASGIApp, Receive, Scope, Send
from streamweir.options.signatures import checked, spells_out
from streamweir.translation.taps import checked_makers

if TYPE_CHECKING:
    from streamweir.asgi.resumption.resumption import Exchange, Resumption
    from streamweir.http.runs_app import RunsApp
    from streamweir.runs.options import Resume
    from streamweir.runs.store import RunStore

__all__ = ["NormalizeMiddleware"]


class NormalizeMiddleware:
    """Reads the streams of an application in its dialect, and answers in the client's protocol.

    A response is translated if its status is 200, 201 or 202, its type is one of `media_types` and its path
    is covered. All other messages pass unchanged. A failure of the application properly ends its stream.

    Args:
        app: the ASGI application to wrap.
        speaks: the dialect of its streams; `auto` detects it, and lets responses of no dialect pass.
        options: see `NormalizeOptions` and `StreamOptions`.

    Raises:
        UnknownDialectError: there is no decoder for `speaks`, or no encoder for one of `answers`.
        ConfigurationError: another option has an invalid value.
    """

    @spells_out(NormalizeOptions, NORMALIZE_DEFAULTS)
    def __init__(self, app: ASGIApp, *, speaks: str, **options: Unpack[NormalizeOptions]) -> None:
        given = cast("NormalizeOptions", checked(options, NORMALIZE_DEFAULTS))
        resume, store = given["resume"], given["store"]
        if given["otel"]:
            raise ConfigurationError("otel=True: this version makes no traces")
        stream_options = stream_options_in(given)
        self.app = app
        self._paths = PathPatterns(given["paths"])
        self._reraise = given["reraise"]
        self._taps = checked_makers(given["taps"])
        self._options = StreamFactory(
            answers=given["answers"],
            media_types=given["media_types"],
            framing=given["framing"],
            heartbeat=given["heartbeat"],
            timeouts=given["timeouts"],
            speaks=speaks,
            failures=given["failures"],
            options=stream_options,
        )
        self._mapping = request_mapping(
            given["request"],
            speaks=speaks,
            answers=self._options.answers,
            paths=self._paths.patterns if self._paths.are_given else None,
            options=self._options.protocol_options,
            max_bytes=self._options.request_bytes,
            upstream=given["upstream"],
        )
        self._resumption: Resumption | None = None
        self._runs: RunsApp | None = None
        if resume is not None:
            self._keep_runs(resume, store)
        elif store is not None:
            raise ConfigurationError("store is nothing without resume")

    def _keep_runs(self, resume: Resume, store: RunStore | None) -> None:
        from streamweir.asgi.resumption.resumption import Resumption  # noqa: PLC0415 (it loads asyncio)
        from streamweir.http.runs_app import RunsApp  # noqa: PLC0415 (likewise)
        from streamweir.runs.memory_store import MemoryStore  # noqa: PLC0415 (likewise)

        options = self._options
        self._resumption = Resumption(
            resume,
            MemoryStore() if store is None else store,
            answers=options.answers,
            framing=options.framing_of(()),
            heartbeat=options.heartbeat,
        )
        self._runs = RunsApp(resume.path, self._resumption)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if self._runs is not None and scope["type"] == "http" and self._runs.serves(scope):
            await self._runs(scope, receive, send)
            return
        if self._resumption is not None:
            scope = offer_runs(scope, self._resumption)
        if scope["type"] != "http" or scope["method"] == "HEAD" or not self._paths.cover(scope):
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
            exchange, receive = admitted.exchange, admitted.receive
        await self._serve(exchange, scope, receive, send, answers, request_id)

    def covers_failures(self, scope: Scope) -> bool:
        """Return whether a failure before the response to this request is answered with a stream."""
        if not self._paths.cover(scope):
            return False
        accept = header_value(scope["headers"], b"accept")
        return self._paths.are_given or accepts_any(accept, self._options.media_types)

    def _app_for(self, scope: Scope, answers: str, collector: WarningCollector) -> ASGIApp:
        """Return the application, or a wrapper that maps the request for the application."""
        if self._mapping is None or not self._mapping.takes(scope, answers):
            return self.app
        return MappedApp(self.app, self._mapping, answers, collector)

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
        ownership.taps = self._taps
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
                await exchange.run(self._app_for(scope, answers, collector), reraise=self._reraise)
            finally:
                if is_ours:
                    collector.close()
