"""Serves the paths below an endpoint that stores responses, to read, delete and cancel them.

    GET     PATH/{id}          the response object; with `stream=true` the rest of its run
    DELETE  PATH/{id}          forgotten; cancelled if it runs
    POST    PATH/{id}/cancel   cancelled if it runs in the background

Refusals for a response that does not exist and for a response of another key are equal, byte for byte.

Source: the conversation contract, section 5; the Responses API (2026): `retrieve`, `delete`, `cancel`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from starlette.types import Receive, Scope, Send

from streamweir.codec.dialect import Dialect
from streamweir.http.headers import settled_request_id
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.runs.store import StoreUnavailable
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.responses.background import BackgroundRuns
from streamweir_gateway.responses.front_door import store_unavailable
from streamweir_gateway.responses.kept_responses import KeptResponses
from streamweir_gateway.responses.response_call import RESPONSE_ID, ResponseCall

__all__ = ["METHODS", "ResponsesApp"]

METHODS: Final = {f"/{{{RESPONSE_ID}}}": ("GET", "DELETE", "POST"), f"/{{{RESPONSE_ID}}}/cancel": ("POST",)}
"""The methods for each template below the endpoint's path. POST to the first template is always refused."""

_CANCEL: Final = "/cancel"
_UNDER_WAY: Final = ("queued", "in_progress")
_REASONS: Final = {"completed": "done", "incomplete": "done", "cancelled": "cancelled"}
"""The reason of the end of a response, by its status. Why a response failed is known from its run alone."""


class ResponsesApp:
    """The ASGI application of one endpoint and one of `METHODS`.

    Args:
        kept: the responses of the endpoint; None: responses are not stored.
        runs: the runs of the endpoint.
        protocol: the protocol in which refusals are written.
        template: the template of the path.
        endpoint: the template of the endpoint's path.
        observer: gets a record of each request.
    """

    def __init__(
        self,
        kept: KeptResponses | None,
        runs: BackgroundRuns,
        protocol: Dialect,
        template: str,
        *,
        endpoint: str,
        observer: Observer,
    ) -> None:
        self._kept: Final = kept
        self._runs: Final = runs
        self._protocol: Final = protocol
        self._cancels: Final = template.endswith(_CANCEL)
        self._endpoint: Final = endpoint
        self._observer: Final = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        state, request_id = scope["state"], settled_request_id(scope)
        record = RequestRecord(
            request_id,
            scope["method"],
            self._endpoint,
            key=state.get("key"),
            trace_id=settled_trace_context(scope).trace_id,
        )
        call = ResponseCall(scope, receive, send, record)
        try:
            await self._serve(call)
        except Refusal as refusal:
            record.refused(refusal.code, state.get("client"))
            record.bytes_out = await send_refusal(
                send, refusal, request_id=request_id, protocol=self._protocol
            )
        finally:
            self._observer.ended(record)

    async def _serve(self, call: ResponseCall) -> None:
        if self._kept is None:
            raise no_such_response()
        try:
            await self._verb(call.scope["method"])(self, self._kept, call)
        except StoreUnavailable:
            raise store_unavailable() from None

    def _verb(self, method: str) -> _Verb:
        if self._cancels:
            return ResponsesApp._cancel
        return {"GET": ResponsesApp._read, "DELETE": ResponsesApp._delete}.get(method, ResponsesApp._refuse)

    async def _read(self, kept: KeptResponses, call: ResponseCall) -> None:
        """Serve GET PATH/{id}: the response object, or the rest of its stream."""
        found = await kept.find(call.key, call.response_id)
        if found is None:
            raise no_such_response()
        if call.wants_stream:
            await self._runs.stream(call, found.response)
            return
        shown = await self._runs.settled(kept, call.key, found.response)
        await call.answer(shown)
        if shown.get("status") not in _UNDER_WAY:
            record = call.record
            record.answers, record.framing, record.reads_whole = self._protocol.name, "json", True
            record.reason = _REASONS.get(str(shown.get("status")))
            await self._runs.note_end(call, found.response)

    async def _delete(self, kept: KeptResponses, call: ResponseCall) -> None:
        """Serve DELETE PATH/{id}: end the response if it runs, and forget it."""
        found = await kept.find(call.key, call.response_id)
        if found is None:
            raise no_such_response()
        if found.response.is_running:
            await self._runs.remove(call.key, found.response)
        await kept.drop(call.key, call.response_id)
        await call.answer({"id": call.response_id, "object": "response", "deleted": True})

    async def _cancel(self, kept: KeptResponses, call: ResponseCall) -> None:
        """Serve POST PATH/{id}/cancel: end a response that runs; show a response that has ended."""
        found = await kept.find(call.key, call.response_id)
        if found is None:
            raise no_such_response()
        if found.response.is_running:
            await self._runs.cancel(call.key, found.response)
            found = await kept.find(call.key, call.response_id) or found
        await call.answer(await self._runs.settled(kept, call.key, found.response))

    async def _refuse(self, kept: KeptResponses, call: ResponseCall) -> None:
        """Refuse POST PATH/{id}, which is neither a method of a response nor of any other resource."""
        del kept, call
        raise Refusal("ENDPOINT_NOT_FOUND")


_Verb: TypeAlias = Callable[[ResponsesApp, KeptResponses, ResponseCall], Awaitable[None]]


def no_such_response() -> Refusal:
    """Return the refusal of a request about a response that is unknown under the client's key."""
    return Refusal("ENDPOINT_NOT_FOUND", "There is no such response.", error={"code": "response_not_found"})
