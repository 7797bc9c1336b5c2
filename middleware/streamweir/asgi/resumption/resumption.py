"""An application as a shell of runs: each request starts a run, joins one, or reads on in one.

Source: the contract of resumable streams, sections 2, 3 and 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
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
from streamweir.http.headers import Headers, header_value, header_values
from streamweir.http.negotiation import UnknownProtocolError, choose_framing, choose_protocol
from streamweir.http.ownership import take_ownership
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.requested_run import about_request, brought_handle, named_run, run_headers
from streamweir.http.response_headers import NOT_STORED
from streamweir.http.run_refusals import run_refusals
from streamweir.http.runs_app import RunsCall
from streamweir.http.sending import Receive, Scope, Send, send_nothing
from streamweir.request_id import RunRequestID
from streamweir.runs.found_run import About, FoundRun
from streamweir.runs.handles import Position, new_handle
from streamweir.runs.options import Resume
from streamweir.runs.resumable_run import ResumableRun, UnreadLimits
from streamweir.runs.service import NothingLeft, RunNotFound, RunService
from streamweir.runs.store import RunStore, StoreUnavailable

__all__ = ["Admitted", "Exchange", "Resumption"]

Exchange: TypeAlias = Callable[..., ResponseInterceptor]
"""What makes the interceptor of a request."""


class Admitted(NamedTuple):
    """A request that the application is to answer.

    Attributes:
        client: the client's side of the request; its `receive` is the application's.
        run: the run that the answer becomes; None: the request is of nobody who could have runs.
    """

    client: ClientRequest
    run: RequestRun | None

    @property
    def exchange(self) -> Exchange:
        """What makes the interceptor of the request."""
        return ResponseInterceptor if self.run is None else partial(ResumableExchange, self.run)


class Resumption:
    """The runs of one middleware or response; a `RunsShell`.

    Attributes:
        service: the runs of the store.
        resume: how they are kept.

    Args:
        resume: how runs are kept.
        store: keeps them.
        answers: the protocols that clients may choose from.
        framing: the one where `Accept` and the stream leave it open.
        heartbeat: seconds of silence after which a reader is sent a heartbeat; None: never.
        is_served: runs are read below `resume.path`.

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
        is_served: bool = True,
    ) -> None:
        if not isinstance(resume, Resume):
            raise ConfigurationError(f"resume must be a streamweir.runs.Resume, not {resume!r}")
        if not isinstance(store, RunStore):
            raise ConfigurationError(f"store must be a streamweir.runs.RunStore, not {store!r}")
        self.service: Final = RunService(store, _under_way_in(store))
        self.resume: Final = resume
        self._answers: Final = answers
        self._framing: Final = framing
        self._heartbeat: Final = heartbeat
        self._path: Final = resume.path if is_served else None

    # What the runs app asks

    @property
    def finds(self) -> bool:
        """Whether runs can be found by ids."""
        return self.resume.find

    def owner_of(self, scope: Scope) -> str | None:
        """Return whose request it is; None: of whoever has the handle.

        Raises:
            RunNotFound: `Resume.owner` returns nobody.
        """
        if self.resume.owner is None:
            return None
        owner = self.resume.owner(scope)
        if not owner:
            raise RunNotFound
        return owner

    def serves(self, about: About) -> bool:
        """Return True: every run of the store can be read."""
        del about
        return True

    def headers(self, handle: str) -> Headers:
        """Return the headers of every answer of a run."""
        return run_headers(handle, self._path)

    def observe(self, call: RunsCall) -> AbstractContextManager[object]:
        """Return an empty block; see `RunsShell`."""
        del call
        return nullcontext()

    async def deliver(self, call: RunsCall, found: FoundRun, position: Position | None) -> None:
        """Send a run from a position on; see `RunsShell`."""
        client = ClientRequest(call.receive)
        await self.read(found, call.scope, client, call.send, position=position, headers=[NOT_STORED])

    # Requests for the application

    async def admit(
        self, scope: Scope, receive: Receive, send: Send, *, answers: str, request_id: str
    ) -> Admitted | None:
        """Admit a request, or answer it with a run that exists.

        Args:
            scope: of the request.
            receive: of the server.
            send: of the server.
            answers: the protocol that the client gets.
            request_id: of the request.

        Returns:
            None if the request has been answered.

        Raises:
            ConfigurationError: the event loop is not asyncio's.
        """
        _check_loop()
        client = ClientRequest(receive, keeps_body=self.resume.find)
        try:
            with run_refusals():
                if header_values(scope["headers"], b"last-event-id"):
                    handle, position = named_run(scope)
                    if handle is not None and position is not None:
                        await self._read_on(scope, client, send, handle, position)
                        return None
                return await self._start(scope, client, send, answers=answers, request_id=request_id)
        except Refusal as refusal:
            await send_refusal(send, refusal, request_id=request_id)
        return None

    async def _start(
        self, scope: Scope, client: ClientRequest, send: Send, *, answers: str, request_id: str
    ) -> Admitted | None:
        handle = brought_handle(scope)
        try:
            owner = self.owner_of(scope)
        except RunNotFound:
            return Admitted(client, None)
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
            await client.read_body()
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
                found = await self.service.join(owner, handle, about)
                await self.read(found, scope, client, send)
                return None
        request_run = RequestRun(
            self.service,
            run,
            client,
            scope,
            retention=resume,
            path=self._path,
            heartbeat=self._heartbeat,
            about=about,
        )
        return Admitted(client, request_run)

    async def _claim(self, run: ResumableRun, about: About) -> bool:
        """Claim a run; a run that the store could not take is made all the same, for its first client."""
        try:
            return await self.service.start(run, about)
        except StoreUnavailable:
            return True

    # Reading

    async def read(
        self,
        found: FoundRun,
        scope: Scope,
        client: ClientRequest,
        send: Send,
        *,
        position: Position | None = None,
        headers: Headers | None = None,
    ) -> None:
        """Send a run from a position on.

        Args:
            found: the run.
            scope: of the client's request.
            client: the client's side of the request.
            send: takes the response.
            position: how far the client is; None: it wants the whole run.
            headers: of the response, beside those of a run.

        Raises:
            RunError: the position is not one of this run, or the run cannot be read.
            Refusal: the client asks for a protocol that is none of the answers.
            NothingLeft: the client has all of it.
        """
        about = found.about
        protocol, framing = self._wanted(scope, about)
        reader = self.service.read(found, position)
        scope["state"]["request_id"] = RunRequestID(about.request_id)
        if reader is None:
            raise NothingLeft
        take_ownership(scope)
        response = RunResponse(
            reader,
            protocol,
            framing,
            headers=headers or [],
            run_headers=self.headers(found.handle),
            send=send,
            heartbeat=self._heartbeat,
        )
        await response.deliver(client, at_once=found.state.state == "running")

    async def _read_on(
        self, scope: Scope, client: ClientRequest, send: Send, handle: str, position: Position
    ) -> None:
        """Send the rest of a run, and ask the application nothing."""
        try:
            with run_refusals():
                found = await self.service.look_up(self.owner_of(scope), handle)
                await self.read(found, scope, client, send, position=position)
        except NothingLeft:
            await send_nothing(send, self.headers(handle))
        except Refusal as refusal:
            if scope["method"] != "GET" or refusal.code not in ("RUN_NOT_FOUND", "RUN_GONE"):
                raise
            await send_nothing(send, self.headers(handle))  # the only status that stops an EventSource

    def _wanted(self, scope: Scope, about: About) -> tuple[str, str]:
        """Return protocol and framing for a reader: those of the first client where the request is silent."""
        others = (name for name in self._answers if name != about.protocol)
        try:
            protocol = choose_protocol(
                scope["headers"], scope.get("query_string", b""), (about.protocol, *others)
            )
        except UnknownProtocolError as error:
            raise Refusal("BAD_REQUEST", f"X-Streamweir-Protocol: {error}.") from None
        accept = header_value(scope["headers"], b"accept")
        return protocol, choose_framing(accept, about.framing)  # type: ignore[arg-type]


_under_way: Final[WeakKeyDictionary[RunStore, dict[str, ResumableRun]]] = WeakKeyDictionary()
"""By store, the runs that this process makes: those of a middleware and of responses with the same store."""


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
