"""A middleware whose streams are kept: each request starts a run, joins one, or reads on in one.

Source: the contract of resumable streams, sections 2, 3 and 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from streamweir.asgi.request_id import RunRequestID
from streamweir.asgi.response_interceptor import ResponseInterceptor
from streamweir.asgi.resumption.client_request import ClientRequest
from streamweir.asgi.resumption.kept_exchange import KeptExchange, about_request
from streamweir.asgi.resumption.kept_run import KeptRun
from streamweir.asgi.resumption.registry import RunRegistry
from streamweir.asgi.resumption.run_response import RunResponse, Wanted
from streamweir.asgi.stream_factory import StreamFactory
from streamweir.errors import ConfigurationError
from streamweir.http.found_run import NothingLeft, check_same_request, store_unavailable
from streamweir.http.headers import Headers, header_value, header_values
from streamweir.http.negotiation import UnknownProtocolError, choose_framing, choose_protocol
from streamweir.http.ownership import take_ownership
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.requested_run import brought_handle, check_position, has_all, named_run
from streamweir.http.sending import Receive, Scope, Send
from streamweir.runs.handles import Position, new_handle, run_name
from streamweir.runs.memory_store import MemoryStore
from streamweir.runs.options import Resume
from streamweir.runs.run_index import IndexedRun
from streamweir.runs.store import RunStore, StoreUnavailable

__all__ = ["Exchange", "Resumption", "send_nothing"]

Exchange: TypeAlias = Callable[..., ResponseInterceptor]
"""What makes the interceptor of a request."""


class Resumption:
    """Of one middleware.

    Attributes:
        registry: its runs.

    Args:
        resume: how they are kept.
        store: keeps them; None: a memory store of its own.
        options: of the middleware.

    Raises:
        ConfigurationError: one of these is nothing of the kind.
    """

    def __init__(self, resume: Resume, store: RunStore | None, options: StreamFactory) -> None:
        if not isinstance(resume, Resume):
            raise ConfigurationError(f"resume must be a streamweir.runs.Resume, not {resume!r}")
        if store is not None and not isinstance(store, RunStore):
            raise ConfigurationError(f"store must be a streamweir.runs.RunStore, not {store!r}")
        self.registry: Final = RunRegistry(resume, MemoryStore() if store is None else store)
        self._options: Final = options

    async def admit(
        self, scope: Scope, receive: Receive, send: Send, *, answers: str, request_id: str
    ) -> tuple[Exchange, Receive] | None:
        """Return what takes a request, and how it is received from here on; None if it has been answered.

        Args:
            scope: of the request.
            receive: of the server.
            send: likewise.
            answers: the protocol that the client gets.
            request_id: of the request.

        Raises:
            ConfigurationError: the application runs on something else than asyncio.
        """
        _check_loop()
        client = ClientRequest(receive, keeps_body=self.registry.resume.find)
        try:
            if header_values(scope["headers"], b"last-event-id"):
                handle, position = named_run(scope)
                if handle is not None and position is not None:
                    await self._read_on(scope, client, send, handle, position)
                    return None
            return await self._start(scope, client, send, answers=answers, request_id=request_id)
        except StoreUnavailable:
            await send_refusal(send, store_unavailable(), request_id=request_id)
        except Refusal as refusal:
            await send_refusal(send, refusal, request_id=request_id)
        return None

    async def read(
        self,
        found: IndexedRun,
        scope: Scope,
        client: ClientRequest,
        send: Send,
        *,
        position: Position | None,
        headers: Headers,
    ) -> None:
        """Send a run from a position on.

        Args:
            found: the run.
            scope: of the client's request.
            client: its side of the request.
            send: takes the response.
            position: how far it is; None: it wants the whole.
            headers: of the response, beside those of a run.

        Raises:
            Refusal: the position is not one of this run, or the protocol none of these answers.
            NothingLeft: the client has all of it.
        """
        handle, name, state, about = found
        check_position(position, handle, state)
        protocol, framing = self._wanted(scope, about.protocol, about.framing)
        scope["state"]["request_id"] = RunRequestID(about.request_id)
        if has_all(position, state):
            raise NothingLeft
        take_ownership(scope)
        kept = self.registry.under_way.get(name)
        response = RunResponse(
            self.registry.store,
            name,
            about,
            Wanted(protocol, framing, position),
            handle=handle,
            headers=lambda _: [*self.registry.headers(handle), *headers],
            send=send,
            heartbeat=self._options.heartbeat,
            owned=None if kept is None else kept.owned,
        )
        await response.deliver(client, at_once=state.state == "running")

    def _wanted(self, scope: Scope, protocol: str, framing: str) -> tuple[str, str]:
        """Return protocol and framing for a reader: what it leaves open is as the first client had it."""
        others = (name for name in self._options.answers if name != protocol)
        try:
            chosen = choose_protocol(scope["headers"], scope.get("query_string", b""), (protocol, *others))
        except UnknownProtocolError as error:
            raise Refusal("BAD_REQUEST", f"X-Streamweir-Protocol: {error}.") from None
        return chosen, choose_framing(header_value(scope["headers"], b"accept"), framing)  # type: ignore[arg-type]

    async def _start(
        self, scope: Scope, client: ClientRequest, send: Send, *, answers: str, request_id: str
    ) -> tuple[Exchange, Receive] | None:
        registry = self.registry
        brought = brought_handle(scope)
        if not registry.is_somebody(scope):
            return ResponseInterceptor, client.receive
        owner, handle = registry.owner_of(scope), brought or new_handle()
        name = run_name(owner, handle)
        run = KeptRun(registry.store, registry.resume, handle, name, owner=owner)
        if brought is None:
            return partial(KeptExchange, registry, run, client, None), client.receive
        await client.read_body()
        accept = header_value(scope["headers"], b"accept")
        about = about_request(
            scope,
            client,
            protocol=answers,
            framing=choose_framing(accept, self._options.framing_of(())),
            request_id=request_id,
            ttl=registry.resume.ttl,
            handle=handle if registry.resume.find else None,
        )
        if await run.claim(about):
            return partial(KeptExchange, registry, run, client, about), client.receive
        found = await registry.find(scope, handle)
        check_same_request(found.about, about)
        await self.read(found, scope, client, send, position=None, headers=[])
        return None

    async def _read_on(
        self, scope: Scope, client: ClientRequest, send: Send, handle: str, position: Position
    ) -> None:
        """Send the rest of a run, and ask the application nothing."""
        try:
            found = await self.registry.find(scope, handle)
            await self.read(found, scope, client, send, position=position, headers=[])
        except NothingLeft:
            await send_nothing(send, self.registry.headers(handle))
        except Refusal as refusal:
            if scope["method"] != "GET" or refusal.code not in ("RUN_NOT_FOUND", "RUN_GONE"):
                raise
            await send_nothing(send, self.registry.headers(handle))  # all that stops an EventSource


async def send_nothing(send: Send, headers: Headers) -> None:
    """Answer that there is nothing."""
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError("resume needs asyncio, this is another event loop") from None
