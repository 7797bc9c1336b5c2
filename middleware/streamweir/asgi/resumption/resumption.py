"""Wraps an application so that requests start a run, join one, or resume reading one.

Source: the contract of resumable streams, sections 2, 3 and 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from streamweir.asgi.response_interceptor import ResponseInterceptor
from streamweir.asgi.resumption.client_request import ClientRequest
from streamweir.asgi.resumption.request_run import RequestRun
from streamweir.asgi.resumption.resumable_exchange import ResumableExchange
from streamweir.asgi.resumption.run_response import RunResponse
from streamweir.errors import ConfigurationError
from streamweir.http.accept import StreamFraming
from streamweir.http.headers import header_value
from streamweir.http.negotiation import UnknownProtocolError, choose_framing, choose_protocol
from streamweir.http.ownership import take_ownership
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.requested_run import about_request, brought_handle, named_run
from streamweir.http.runs_app import RunsCall, RunsShell
from streamweir.http.sending import Receive, Scope, Send
from streamweir.request_id import RunRequestID
from streamweir.runs.found_run import About, FoundRun
from streamweir.runs.handles import Position, new_handle
from streamweir.runs.options import Resume, check_resume
from streamweir.runs.resumable_run import ResumableRun, UnreadLimits
from streamweir.runs.service import NothingLeft, RunNotFound, RunService
from streamweir.runs.store import RunStore, StoreUnavailable

__all__ = ["SELF", "Admitted", "Exchange", "Resumption"]

Exchange: TypeAlias = Callable[..., ResponseInterceptor]
"""Makes the interceptor of a request."""

SELF: Final = object()


class Admitted(NamedTuple):
    """A request that the application has to answer.

    Attributes:
        receive: the ASGI `receive` of the request, for the application.
        run: the run that the answer becomes; None: the client cannot have runs.
    """

    receive: Receive
    run: RequestRun | None

    @property
    def exchange(self) -> Exchange:
        """The class or function that makes the interceptor of the request."""
        return ResponseInterceptor if self.run is None else partial(ResumableExchange, self.run)


class Resumption(RunsShell):
    """The runs of one middleware or response.

    Attributes:
        resume: how the runs are kept.

    Args:
        resume: how runs are kept.
        store: keeps the runs.
        answers: the protocols that clients may choose from.
        framing: the framing if neither `Accept` nor the stream decides it.
        heartbeat: seconds of silence after which a reader is sent a heartbeat; None: never.
        served_by: the shell that serves the path of runs; `SELF` for this object. Another shell serves the
            runs of this object only if both have one store and path; else they are read at their own URLs.

    Raises:
        ConfigurationError: `resume` or `store` has another type.
    """

    def __init__(
        self,
        resume: Resume,
        store: RunStore,
        *,
        answers: Sequence[str],
        framing: StreamFraming,
        heartbeat: float | None,
        served_by: object = SELF,
    ) -> None:
        check_resume(resume, store)
        is_served = served_by is SELF or (
            isinstance(served_by, Resumption)
            and served_by.service.store is store
            and served_by.path == resume.path
        )
        super().__init__(RunService(store, _under_way_in(store)), resume.path if is_served else None)
        self.resume: Final = resume
        self._answers: Final = answers
        self._framing: Final = framing
        self._heartbeat: Final = heartbeat

    @property
    def finds(self) -> bool:
        """Whether runs can be found by ids."""
        return self.resume.find

    def owner_of(self, scope: Scope) -> str | None:
        """Return the owner by `Resume.owner`; see `RunsShell`."""
        if self.resume.owner is None:
            return None
        owner = self.resume.owner(scope)
        if not owner:
            raise RunNotFound
        return owner

    async def deliver(self, call: RunsCall, found: FoundRun, position: Position | None = None) -> None:
        """Send a run as a stream; see `RunsShell`."""
        about = found.about
        protocol, framing = self._wanted(call.scope, about)
        reader = self.service.read(found, position)
        call.scope["state"]["request_id"] = RunRequestID(about.request_id)
        if reader is None:
            raise NothingLeft
        take_ownership(call.scope)
        response = RunResponse(
            reader,
            protocol,
            framing,
            ClientRequest(call.receive),
            call.send,
            headers=[],
            run_headers=self.headers(found.handle),
            heartbeat=self._heartbeat,
            is_event_source=call.scope["method"] == "GET",
        )
        await response.run(at_once=found.state.state == "running")

    def _wanted(self, scope: Scope, about: About) -> tuple[str, str]:
        """Return protocol and framing for a reader; if the request does not choose, of the first client."""
        others = (name for name in self._answers if name != about.protocol)
        try:
            protocol = choose_protocol(
                scope["headers"], scope.get("query_string", b""), (about.protocol, *others)
            )
        except UnknownProtocolError as error:
            raise Refusal("BAD_REQUEST", f"X-Streamweir-Protocol: {error}.") from None
        accept = header_value(scope["headers"], b"accept")
        return protocol, choose_framing(accept, about.framing)  # type: ignore[arg-type]

    async def admit(
        self, scope: Scope, receive: Receive, send: Send, *, answers: str, request_id: str
    ) -> Admitted | None:
        """Let the application answer a request, or answer the request with an existing run.

        Args:
            scope: the ASGI scope of the request.
            receive: the ASGI `receive` of the server.
            send: the ASGI `send` of the server.
            answers: the protocol in which the client is answered.
            request_id: the id of the request.

        Returns:
            None if the request has been answered.

        Raises:
            ConfigurationError: the event loop is not asyncio's.
        """
        _check_loop()
        call = RunsCall(scope, receive, send)
        try:
            if (named := named_run(scope)) is not None:
                await self.read_on(call, *named)
                return None
            return await self._start(call, answers, request_id)
        except Refusal as refusal:
            await send_refusal(send, refusal, request_id=request_id)
        return None

    async def _start(self, call: RunsCall, answers: str, request_id: str) -> Admitted | None:
        scope, client = call.scope, ClientRequest(call.receive, keeps_body=self.resume.find)
        handle = brought_handle(scope)
        try:
            owner = self.owner_of(scope)
        except RunNotFound:
            return Admitted(client.receive, None)
        resume, store = self.resume, self.service.store
        run = ResumableRun(
            store,
            handle or new_handle(),
            owner=owner,
            retention=resume,
            unread=UnreadLimits(stored=resume.continue_for, detached=0.0),
        )
        about = None
        if handle is not None:
            await client.read_body(scope["headers"])
            about = about_request(
                scope,
                body=client.body_digest,
                handle=handle,
                retention=resume,
                endpoint=scope["path"],
                protocol=answers,
                framing=choose_framing(header_value(scope["headers"], b"accept"), self._framing),
                request_id=request_id,
            )
            if not await self._claim(run, about):
                call = RunsCall(scope, client.receive, call.send)
                await self.join(call, handle, about)
                return None
        request_run = RequestRun(
            self.service,
            run,
            client,
            scope,
            retention=resume,
            path=self.path,
            heartbeat=self._heartbeat,
            about=about,
        )
        return Admitted(client.receive, request_run)

    async def _claim(self, run: ResumableRun, about: About) -> bool:
        """Claim a run; if the store does not answer, the run is still made for its first client."""
        try:
            return await self.service.start(run, about)
        except StoreUnavailable:
            return True


_under_way: Final[WeakKeyDictionary[RunStore, dict[str, ResumableRun]]] = WeakKeyDictionary()
"""For each store, the runs made by this process: those of a middleware and of responses with that store."""


def _under_way_in(store: RunStore) -> dict[str, ResumableRun]:
    try:
        return _under_way.setdefault(store, {})
    except TypeError:  # it cannot be hashed, or has no weak references
        return {}


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError("resume needs asyncio, this is another event loop") from None
