"""Where the runs of a middleware are read, stopped, found and removed.

Source: the contract of resumable streams, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeAlias

from streamweir.asgi.request_id import RunRequestID
from streamweir.asgi.resumption.client_request import ClientRequest
from streamweir.asgi.resumption.resumption import Resumption, send_nothing
from streamweir.http.accept import choose_framing
from streamweir.http.found_run import NothingLeft, stop_run, store_unavailable
from streamweir.http.headers import Headers, header_value, settled_request_id
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.requested_run import check_position, position_of, requested_ids
from streamweir.http.response_headers import NO_SNIFFING, NOT_STORED, VARIES
from streamweir.http.sending import Message, Receive, Scope, Send, send_whole
from streamweir.jsontext import write_json
from streamweir.runs.handles import is_handle, run_name
from streamweir.runs.run_description import folded_run, run_description
from streamweir.runs.run_index import IndexedRun, indexed_runs
from streamweir.runs.store import StoreUnavailable
from streamweir.runs.stored_event import UnreadableRun

__all__ = ["RunsApp"]


class _Call(NamedTuple):
    """One request."""

    scope: Scope
    receive: Receive
    send: Send
    handle: str


_Verb: TypeAlias = Callable[[_Call], Awaitable[None]]


class RunsApp:
    """An ASGI application for all that is below `Resume.path`.

    Args:
        resumption: whose runs these are.
    """

    def __init__(self, resumption: Resumption) -> None:
        self._resumption: Final = resumption
        self._registry: Final = resumption.registry
        self._path: Final = self._registry.resume.path

    def serves(self, path: str) -> bool:
        """Return whether `path` is here."""
        return path == self._path or path.startswith(f"{self._path}/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        scope.setdefault("state", {})
        request_id = settled_request_id(scope)

        async def send_private(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {b"x-request-id": request_id.encode(), b"cache-control": b"no-store"}
                missing = [(name, own[name]) for name in own if name not in dict(message["headers"])]
                message = {**message, "headers": [*message["headers"], *missing, VARIES]}
            await send(message)

        try:
            verb, handle = self._verb(scope)
            self._registry.owner_of(scope)
            await verb(_Call(scope, receive, send_private, handle))
        except StoreUnavailable:
            await send_refusal(send_private, store_unavailable(), request_id=request_id)
        except Refusal as refusal:
            await send_refusal(send_private, refusal, request_id=request_id)

    def _verb(self, scope: Scope) -> tuple[_Verb, str]:
        """Return what a request asks for, and of which run.

        Raises:
            Refusal: nothing of that kind is here.
        """
        handle, _, rest = scope["path"][len(self._path) + 1 :].partition("/")
        verbs: dict[str, _Verb] | None
        if not handle or (handle == "latest" and not rest):
            verbs = {"GET": self._read_latest if handle else self._find}
        elif not is_handle(handle):
            raise Refusal("RUN_NOT_FOUND")
        else:
            known: dict[str, dict[str, _Verb]] = {
                "": {"GET": self._read, "DELETE": self._remove},
                "cancel": {"POST": self._cancel},
            }
            verbs = known.get(rest)
        if verbs is None:
            raise Refusal("ENDPOINT_NOT_FOUND")
        if scope["method"] not in verbs:
            raise Refusal("METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(verbs)})
        return verbs[scope["method"]], handle

    # Reading

    async def _read(self, call: _Call) -> None:
        """GET: what is stored, then what comes."""
        await self._send_run(call, await self._registry.find(call.scope, call.handle))

    async def _read_latest(self, call: _Call) -> None:
        """GET: the newest run that still runs."""
        async for found in self._found(call.scope):
            if found.state.state == "running":
                await self._send_run(call, found)
                return
        await send_nothing(call.send, [])

    async def _find(self, call: _Call) -> None:
        """GET: the runs of a thread, a session or a request."""
        store = self._registry.store
        found = [await run_description(store, *_parts(run)) async for run in self._found(call.scope)]
        await _answer(call.send, 200, {"runs": found})

    async def _found(self, scope: Scope) -> AsyncIterator[IndexedRun]:
        if not self._registry.resume.find:
            raise Refusal("ENDPOINT_NOT_FOUND")
        kind, value = requested_ids(scope)
        owner = self._registry.owner_of(scope)
        async for run in indexed_runs(self._registry.store, owner, kind, value):
            yield run

    async def _send_run(self, call: _Call, found: IndexedRun) -> None:
        position = position_of(call.scope)
        headers: Headers = self._registry.headers(found.handle)
        if choose_framing(header_value(call.scope["headers"], b"accept"), "sse") == "json":
            check_position(position, found.handle, found.state)
            try:
                result = await folded_run(self._registry.store, *_parts(found))
            except UnreadableRun:
                raise Refusal("RUN_GONE") from None
            call.scope["state"]["request_id"] = RunRequestID(found.about.request_id)
            headers.append((b"x-request-id", found.about.request_id.encode()))
            await _answer(call.send, 200, result, headers)
            return
        try:
            client = ClientRequest(call.receive)
            await self._resumption.read(
                found, call.scope, client, call.send, position=position, headers=[NOT_STORED]
            )
        except NothingLeft:
            await send_nothing(call.send, headers)

    # Ending

    async def _cancel(self, call: _Call) -> None:
        """POST: end the run; whichever comes first, its end or this."""
        await self._stop(await self._registry.find(call.scope, call.handle))
        found = await self._registry.find(call.scope, call.handle)
        description = await run_description(self._registry.store, *_parts(found))
        await _answer(call.send, 202 if found.state.state == "running" else 200, {"run": description})

    async def _remove(self, call: _Call) -> None:
        """DELETE: end the run, and forget it."""
        try:
            await self._stop(await self._registry.find(call.scope, call.handle))
        except Refusal as refusal:
            if refusal.code != "RUN_GONE":
                raise
        await self._registry.store.forget(run_name(self._registry.owner_of(call.scope), call.handle))
        await send_nothing(call.send, [])

    async def _stop(self, found: IndexedRun) -> None:
        registry = self._registry
        await stop_run(registry.store, found.name, found.state, registry.under_way.get(found.name))


def _parts(found: IndexedRun) -> tuple[str, str, Any, Any]:
    return found.name, found.handle, found.state, found.about


async def _answer(send: Send, status: int, value: dict[str, Any], headers: Headers | None = None) -> None:
    fields = [(b"content-type", b"application/json"), *(headers or ())]
    fields += [(name.lower().encode(), text.encode()) for name, text in NO_SNIFFING.items()]
    await send_whole(send, status, write_json(value), fields)
