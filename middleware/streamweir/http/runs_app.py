"""The requests below the path of runs: read, folded, cancelled, removed and found.

    GET     <runs>                  `find`
    GET     <runs>/latest           `latest`
    GET     <runs>/<handle>         `read`
    DELETE  <runs>/<handle>         `remove`
    POST    <runs>/<handle>/cancel  `cancel`

One ASGI application for every shell. The shell names the owner of a request and delivers runs (`RunsShell`).
Every answer is private to its client (`Cache-Control`, `Vary`).

Source: the contract of resumable streams, sections 3 and 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TypeAlias

from streamweir.http.accept import choose_framing
from streamweir.http.headers import REQUEST_ID, Headers, header_value, settled_request_id
from streamweir.http.paths import path_within
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.requested_run import position_of, requested_ids, run_headers
from streamweir.http.response_headers import NO_SNIFFING, NOT_STORED, STREAM_CACHING, VARIES
from streamweir.http.run_refusals import run_refusals
from streamweir.http.sending import Message, Receive, Scope, Send, send_nothing, send_whole
from streamweir.jsontext import write_json
from streamweir.request_id import RunRequestID
from streamweir.runs.found_run import About, FoundRun
from streamweir.runs.handles import Position, is_handle
from streamweir.runs.service import NothingLeft, RunGone, RunNotFound, RunService

__all__ = ["RUNS_METHODS", "RunsApp", "RunsCall", "RunsShell"]


class RunsCall:
    """One request that is about a run.

    Attributes:
        scope: the ASGI scope of the request.
        receive: the ASGI `receive` of the server.
        send: takes the response.
        request_id: the id of the request.
        owner: the owner of the requested runs; None: any client that has the handle.
        handle: the handle of the run; empty if the request names none.
        found: the run to read; None until it has been found.
        status: the status of the response if it is not a stream; else None.
        refusal: the refusal of the request; None if it was not refused.
        refusal_bytes: the number of bytes of the body that reports the refusal; None: not sent here.
        has_nothing_left: the client already has all events of `found`.
        folded: the folded result if the response is one; else None.
        answer_bytes: the number of bytes of a JSON response; None: the response is no JSON.
        note: a value that only the shell uses.

    Args:
        is_private: the request was sent to the path of runs, so no cache may keep the response.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, *, is_private: bool = False, note: Any = None
    ) -> None:
        self.scope: Final = scope
        self.receive: Final = receive
        self.send: Final = self._send_private if is_private else send
        self.request_id: Final = settled_request_id(scope)
        self.owner: str | None = None
        self.handle = ""
        self.found: FoundRun | None = None
        self.status: int | None = None
        self.refusal: Refusal | None = None
        self.refusal_bytes: int | None = None
        self.has_nothing_left = False
        self.folded: dict[str, Any] | None = None
        self.answer_bytes: int | None = None
        self.note: Any = note
        self._send: Final = send

    async def answer(self, status: int, value: dict[str, Any], headers: Headers | None = None) -> None:
        """Send a JSON response."""
        self.status = status
        fields = [(b"content-type", b"application/json"), *(headers or ())]
        fields += [(name.lower().encode(), text.encode()) for name, text in NO_SNIFFING.items()]
        data = write_json(value)
        self.answer_bytes = len(data)
        await send_whole(self.send, status, data, fields)

    async def answer_nothing(self, headers: Headers | None = None) -> None:
        """Send a response without a body: 204."""
        self.status = 204
        await send_nothing(self.send, headers or [])

    async def _send_private(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {REQUEST_ID: self.request_id.encode(), b"cache-control": b"no-store"}
            given = [NOT_STORED if pair == STREAM_CACHING else pair for pair in message["headers"]]
            missing = [pair for pair in own.items() if pair[0] not in dict(given)]
            message = {**message, "headers": [*given, *missing, VARIES]}
        await self._send(message)


class RunsShell(ABC):
    """A shell that has runs. `RunsApp` serves the path of runs; endpoints call `read_on` and `join`.

    Attributes:
        service: the runs.
        path: the URL path at which runs are read; None: they are read at their own endpoints only.
        has_runs_without_owner: runs with and without an owner are read here; one without an owner belongs to
            every client that has its handle.
    """

    has_runs_without_owner = False

    def __init__(self, service: RunService[Any], path: str | None) -> None:
        self.service: Final = service
        self.path: Final = path

    @property
    @abstractmethod
    def finds(self) -> bool:
        """Whether runs can be found by ids."""

    @abstractmethod
    def owner_of(self, scope: Scope) -> str | None:
        """Return the owner that a client's runs have; None: runs belong to any client that has the handle.

        Raises:
            RunNotFound: the client cannot have runs.
        """

    @abstractmethod
    async def deliver(self, call: RunsCall, found: FoundRun, position: Position | None = None) -> None:
        """Send a run as a stream.

        Args:
            call: the request.
            found: the run.
            position: the position up to which the client has read; None: it wants the whole run.

        Raises:
            Refusal: the request cannot be answered.
            RunError: the run cannot be read, or the position belongs to another run.
            NothingLeft: the run has ended, and the client already has all events.
        """

    def serves(self, about: About) -> bool:
        """Return whether a run can be read at this shell."""
        del about
        return True

    def observe(self, call: RunsCall) -> AbstractContextManager[object]:
        """Return a context manager in which a request to the path of runs is answered."""
        del call
        return nullcontext()

    def headers(self, handle: str) -> Headers:
        """Return the headers that every response for a run has."""
        return run_headers(handle, self.path)

    async def read_on(self, call: RunsCall, handle: str, position: Position) -> None:
        """Answer a request to an endpoint with the events of a run after a position.

        Raises:
            Refusal: there is no such run. A GET is answered 204 instead, as only 204 stops an EventSource.
        """
        try:
            with run_refusals():
                call.found = await self.service.look_up(self.owner_of(call.scope), handle)
                if not self.serves(call.found.about):
                    raise RunGone
                await self.deliver(call, call.found, position)
        except NothingLeft:
            call.has_nothing_left = True
            await call.answer_nothing(self.headers(handle))
        except Refusal as refusal:
            call.refusal = refusal
            if call.scope["method"] != "GET" or refusal.code not in ("RUN_NOT_FOUND", "RUN_GONE"):
                raise
            await call.answer_nothing(self.headers(handle))

    async def join(self, call: RunsCall, handle: str, about: About) -> None:
        """Answer a request that brings the handle of a run with the whole run.

        Args:
            call: the request.
            handle: the handle of the run.
            about: the facts with which a new run for the request would be claimed.

        Raises:
            Refusal: the run answers another request, or cannot be read.
        """
        with run_refusals():
            await self.deliver(call, await self.service.join(self.owner_of(call.scope), handle, about))


class RunsApp:
    """The ASGI application for all paths at and below the path of runs.

    Args:
        path: the path of runs.
        shell: serves the runs.
    """

    def __init__(self, path: str, shell: RunsShell) -> None:
        self._path: Final = path
        self._shell: Final = shell

    def serves(self, scope: Scope) -> bool:
        """Return whether the path of a request is the path of runs, or below it."""
        path = path_within(scope)
        return path == self._path or path.startswith(f"{self._path}/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        call = RunsCall(scope, receive, send, is_private=True)
        with self._shell.observe(call):
            try:
                with run_refusals():
                    verb = self._verb(call)
                    call.owner = self._shell.owner_of(scope)
                    await self._answer(verb, call)
            except Refusal as refusal:
                call.refusal = refusal
                call.refusal_bytes = await send_refusal(call.send, refusal, request_id=call.request_id)

    async def _answer(self, verb: _Verb, call: RunsCall) -> None:
        """Answer a request; if its owner has no such run, try the run without an owner."""
        try:
            await verb(self, call)
        except RunNotFound:
            if call.owner is None or not call.handle or not self._shell.has_runs_without_owner:
                raise
            call.owner = None
            await verb(self, call)

    def _verb(self, call: RunsCall) -> _Verb:
        """Return the verb of a request, and note the handle in `call`.

        Raises:
            RunNotFound: the path has no well-formed handle.
            Refusal: there is no such path, or it does not take the method.
        """
        rest = path_within(call.scope)[len(self._path) :].removesuffix("/")
        template, handle = rest, ""
        if rest not in ("", "/latest"):
            handle, _, verb = rest[1:].partition("/")
            if not is_handle(handle):
                raise RunNotFound
            template = "/{run}" + (f"/{verb}" if verb else "")
        verbs = _VERBS.get(template)
        if verbs is None:
            raise Refusal("ENDPOINT_NOT_FOUND")
        method = call.scope["method"]
        if method not in verbs:
            raise Refusal("METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(verbs)})
        call.handle = handle
        return verbs[method]

    # Reading

    async def _read(self, call: RunsCall) -> None:
        """Answer `GET <runs>/<handle>` with the stored events, then with new events as they are stored."""
        await self._send(call, await self._shell.service.look_up(call.owner, call.handle))

    async def _latest(self, call: RunsCall) -> None:
        """Answer `GET <runs>/latest` with the newest run with this id that is still running."""
        kind, value = self._ids(call)
        found = await self._shell.service.latest(call.owner, kind, value, serves=self._shell.serves)
        if found is None:
            await call.answer_nothing()
        else:
            await self._send(call, found)

    async def _find(self, call: RunsCall) -> None:
        """Answer `GET <runs>` with the runs of a thread, a session or a request."""
        kind, value = self._ids(call)
        service, serves = self._shell.service, self._shell.serves
        found = [run async for run in service.find(call.owner, kind, value, serves=serves)]
        await call.answer(200, {"runs": [await service.describe(run) for run in found]})

    def _ids(self, call: RunsCall) -> tuple[str, str]:
        if not self._shell.finds:
            raise Refusal("ENDPOINT_NOT_FOUND")
        return requested_ids(call.scope)

    async def _send(self, call: RunsCall, found: FoundRun) -> None:
        if not self._shell.serves(found.about):
            raise RunGone
        call.found = found
        position = position_of(call.scope)
        if choose_framing(header_value(call.scope["headers"], b"accept"), "sse") == "json":
            call.folded = result = await self._shell.service.fold(found, position)
            request_id = RunRequestID(found.about.request_id)
            call.scope["state"]["request_id"] = request_id
            headers = [*self._shell.headers(found.handle), (REQUEST_ID, request_id.encode())]
            await call.answer(200, result, headers)
            return
        try:
            await self._shell.deliver(call, found, position)
        except NothingLeft:
            call.has_nothing_left = True
            await call.answer_nothing(self._shell.headers(found.handle))

    # Ending

    async def _cancel(self, call: RunsCall) -> None:
        """Answer `POST <runs>/<handle>/cancel`: end the run; answer 202 if the end takes too long."""
        found = await self._shell.service.cancel(call.owner, call.handle)
        description = await self._shell.service.describe(found)
        await call.answer(202 if found.state.state == "running" else 200, {"run": description})

    async def _remove(self, call: RunsCall) -> None:
        """Answer `DELETE <runs>/<handle>`: end the run and delete it."""
        await self._shell.service.remove(call.owner, call.handle)
        await call.answer_nothing()


_Verb: TypeAlias = Callable[[RunsApp, RunsCall], Awaitable[None]]

_VERBS: Final[dict[str, dict[str, _Verb]]] = {
    "": {"GET": RunsApp._find},
    "/latest": {"GET": RunsApp._latest},
    "/{run}": {"GET": RunsApp._read, "DELETE": RunsApp._remove},
    "/{run}/cancel": {"POST": RunsApp._cancel},
}

RUNS_METHODS: Final = {template: tuple(verbs) for template, verbs in _VERBS.items()}
"""The methods of each path below the path of runs."""
