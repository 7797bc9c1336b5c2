"""Where runs are read, stopped, found and removed: `server.runs`.

Source: the contract of resumable streams, section 3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from starlette.types import ASGIApp, Receive, Scope, Send

from streamweir.http.accept import choose_framing
from streamweir.http.found_run import NothingLeft, stop_run, store_unavailable
from streamweir.http.headers import Headers, header_value, settled_request_id
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.requested_run import check_position, position_of
from streamweir.http.response_headers import NOT_STORED
from streamweir.http.sending import send_whole
from streamweir.jsontext import write_json
from streamweir.runs.handles import is_handle, run_name
from streamweir.runs.run_description import folded_run, run_description
from streamweir.runs.store import StoreUnavailable
from streamweir.runs.stored_event import UnreadableRun
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.resumption.resumption import FoundRun, Resumption
from streamweir_gateway.resumption.search import find_runs, latest_run
from streamweir_gateway.routing import Route
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.proxy import send_no_content

__all__ = ["runs_routes"]

_Verb: TypeAlias = Callable[["_Call"], Awaitable[None]]


def runs_routes(path: str, resumption: Resumption, observer: Observer) -> list[Route]:
    """Return the routes below `path`."""
    verbs = _Verbs(resumption)

    def app(methods: Mapping[str, _Verb]) -> ASGIApp:
        return _RunsApp(path, methods, observer)

    return [
        Route(template, tuple(methods), app(methods), None, needs_key=True, is_private=True)
        for template, methods in (
            (path, {"GET": verbs.find}),
            (f"{path}/latest", {"GET": verbs.read_latest}),
            (f"{path}/{{run}}", {"GET": verbs.read, "DELETE": verbs.remove}),
            (f"{path}/{{run}}/cancel", {"POST": verbs.cancel}),
        )
    ]


class _Call:
    """One request below `server.runs`."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.record = record

    @property
    def handle(self) -> str:
        """The run that the path names.

        Raises:
            Refusal: it names none.
        """
        handle: str = self.scope["path_params"]["run"]
        if not is_handle(handle):
            raise Refusal("RUN_NOT_FOUND")
        return handle

    async def answer(self, status: int, value: dict[str, Any], headers: Headers | None = None) -> None:
        """Answer with JSON."""
        self.record.status = status
        body = write_json(value)
        fields = [
            (b"content-type", b"application/json"),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            (b"x-request-id", self.scope["state"]["request_id"].encode("ascii")),
            *(headers or ()),
        ]
        await send_whole(self.send, status, body, fields)

    async def answer_nothing(self, headers: Headers | None = None) -> None:
        """Answer that there is nothing."""
        self.record.status = 204
        fields = [(b"cache-control", b"no-store"), *(headers or ())]
        await send_no_content(self.send, self.scope["state"]["request_id"], fields)


class _RunsApp:
    """The ASGI endpoint of one path below `server.runs`, which is all of it that the log is to name."""

    def __init__(self, runs: str, verbs: Mapping[str, _Verb], observer: Observer) -> None:
        self._runs = runs
        self._verbs = verbs
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = settled_request_id(scope)
        record = RequestRecord(
            request_id,
            scope["method"],
            None,
            path=self._runs,
            key=scope["state"].get("key"),
            trace_id=settled_trace_context(scope).trace_id,
        )
        try:
            await self._verbs[scope["method"]](_Call(scope, receive, send, record))
        except StoreUnavailable:
            refusal = store_unavailable()
            record.refused(refusal.code, scope["state"].get("client"))
            await send_refusal(send, refusal, request_id=request_id)
        except Refusal as refusal:
            record.refused(refusal.code, scope["state"].get("client"))
            await send_refusal(send, refusal, request_id=request_id)
        except ClientGone:
            record.reason = "client_gone"
        finally:
            self._observer.ended(record)


class _Verbs:
    """What can be done with runs."""

    def __init__(self, resumption: Resumption) -> None:
        self._resumption: Final = resumption

    async def read(self, call: _Call) -> None:
        """GET: what is stored, then what comes."""
        found = await self._resumption.find(call.scope, call.handle)
        await self._read(call, found)

    async def read_latest(self, call: _Call) -> None:
        """GET: the newest run that still runs."""
        found = await latest_run(self._resumption, call.scope)
        if found is None:
            await call.answer_nothing()
        else:
            await self._read(call, found)

    async def find(self, call: _Call) -> None:
        """GET: the runs of a thread, a session or a request."""
        store = self._resumption.registry.store
        runs = await find_runs(self._resumption, call.scope)
        described = [await run_description(store, run.name, run.handle, run.state, run.about) for run in runs]
        await call.answer(200, {"runs": described})

    async def cancel(self, call: _Call) -> None:
        """POST: end the run; whichever comes first, its end or this."""
        found = await self._resumption.find(call.scope, call.handle)
        await self._stop(found)
        found = await self._resumption.find(call.scope, call.handle)
        description = await self._described(found)
        await call.answer(202 if found.state.state == "running" else 200, {"run": description})

    async def remove(self, call: _Call) -> None:
        """DELETE: end the run, and forget it."""
        store, handle = self._resumption.registry.store, call.handle
        try:
            found = await self._resumption.find(call.scope, handle)
        except Refusal as refusal:
            if refusal.code != "RUN_GONE":
                raise
        else:
            await self._stop(found)
        await store.forget(run_name(call.scope["state"].get("key"), handle))
        await call.answer_nothing()

    async def _read(self, call: _Call, found: FoundRun) -> None:
        position = position_of(call.scope)
        if choose_framing(header_value(call.scope["headers"], b"accept"), "sse") == "json":
            check_position(position, found.handle, found.state)
            call.record.resumes = found.about.request_id
            result = await self._folded(found)
            call.scope["state"]["request_id"] = found.about.request_id
            await call.answer(200, result, self._resumption.headers(found.handle))
            return
        try:
            await self._resumption.read(
                found,
                call.scope,
                call.receive,
                call.send,
                record=call.record,
                position=position,
                headers=[NOT_STORED],
            )
        except NothingLeft:
            self._resumption.note_result(found.about.endpoint, "nothing")
            await call.answer_nothing(self._resumption.headers(found.handle))

    async def _folded(self, found: FoundRun) -> dict[str, Any]:
        """Return what the run has said so far as one result."""
        store = self._resumption.registry.store
        try:
            return await folded_run(store, found.name, found.handle, found.state, found.about)
        except UnreadableRun:
            raise Refusal("RUN_GONE") from None

    async def _described(self, found: FoundRun) -> dict[str, Any]:
        store = self._resumption.registry.store
        return await run_description(store, found.name, found.handle, found.state, found.about)

    async def _stop(self, found: FoundRun) -> None:
        registry = self._resumption.registry
        await stop_run(registry.store, found.name, found.state, registry.under_way.get(found.name))
