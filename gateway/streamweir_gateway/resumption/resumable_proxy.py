"""An endpoint with `resume`: each request starts a run, joins a run, or reads the rest of a run.

Source: the contract of resumable streams, section 2.
"""

from __future__ import annotations

import asyncio
from copy import copy
from typing import Final

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from streamweir.http.ownership import take_ownership
from streamweir.http.requested_run import (
    about_request,
    brought_handle,
    digest,
    named_run,
    requested_names,
    without_handle,
)
from streamweir.http.runs_app import RunsCall
from streamweir.own_warnings import own_warning
from streamweir.runs.found_run import About
from streamweir.runs.handles import new_handle, short_handle
from streamweir.runs.store import StoreUnavailable
from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.responses.front_door import Opening, store_unavailable
from streamweir_gateway.responses.response_call import send_object
from streamweir_gateway.resumption.background_runs import response_id_of
from streamweir_gateway.resumption.resumption import Resumption
from streamweir_gateway.resumption.run_delivery import RunDelivery
from streamweir_gateway.resumption.upstream_run import UpstreamRun
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStream, LiveStreams
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.proxy import Proxy
from streamweir_gateway.runs.request_body import RequestBodies
from streamweir_gateway.upstream.request import UpstreamRequest

__all__ = ["ResumableProxy"]

_UNAVAILABLE: Final = own_warning("RESUME_UNAVAILABLE")
_HANDLE: Final = "streamweir.handle"
"""The key of `scope["state"]` for the handle of the request's run."""


class ResumableProxy(Proxy):
    """The ASGI endpoint of one path with `resume`."""

    def __init__(
        self,
        endpoint: Endpoint,
        resumption: Resumption,
        *,
        streams: LiveStreams,
        bodies: RequestBodies,
        observer: Observer,
    ) -> None:
        super().__init__(endpoint, streams=streams, bodies=bodies, observer=observer)
        assert endpoint.config.resume is not None, "an endpoint with `resume`"
        self._retention: Final = endpoint.config.resume
        self._resumption: Final = resumption
        resumption.endpoints[endpoint.config.template] = endpoint

    async def _serve(self, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        if (named := named_run(scope)) is not None:
            self._check_method(scope)
            await self._resumption.read_on(RunsCall(scope, receive, send, note=record), *named)
            return
        await super()._serve(scope, receive, send, record)

    def _asked_before_body(self, scope: Scope, record: RequestRecord) -> tuple[Incoming, UpstreamRequest]:
        return super()._asked_before_body(without_handle(scope), record)

    def _opening(self, scope: Scope, incoming: Incoming) -> Opening:
        return Opening(response_id_of(self._handle(scope)), True, self._options(incoming))

    def _handle(self, scope: Scope) -> str:
        """Return the handle of the request's run: the handle in the request, or a new one."""
        state = scope["state"]
        if _HANDLE not in state:
            state[_HANDLE] = brought_handle(scope) or new_handle()
        handle: str = state[_HANDLE]
        return handle

    async def _answer(
        self, prepared: PreparedRequest, scope: Scope, receive: Receive, send: Send, record: RequestRecord
    ) -> None:
        service, owner = self._resumption.service, self._resumption.owner_of(scope)
        has_no_client = prepared.is_background and prepared.incoming.framing == "json"
        own = copy(record) if has_no_client else record
        live = self._streams.open(own, scope, self._endpoint.taps, is_recorded=not has_no_client)
        run = UpstreamRun(
            service.store,
            self._handle(scope),
            self._endpoint,
            prepared,
            owner=owner,
            record=own,
            observer=self._observer,
            live=live,
        )
        about = self._about(prepared, scope, run.handle)
        try:
            is_started = await service.start(run, about)
            await self._begin_response(prepared, is_started=is_started)
        except StoreUnavailable:
            self._resumption.note_result(about.endpoint, "unavailable")
            if prepared.is_background:
                service.finished(run)
                raise store_unavailable() from None
            await super()._answer(replace(prepared, warnings=(_UNAVAILABLE,)), scope, receive, send, record)
            return
        if not is_started:
            await self._resumption.join(RunsCall(scope, receive, send, note=record), run.handle, about)
            return
        if has_no_client:
            live.recorder = recorder = self._streams.recorder(own, scope)
            if recorder is not None:
                recorder.asked(prepared.incoming, prepared.body.data)
            self._resumption.go_on(run, own)
            await self._answer_pending(run, prepared, send, record)
            return
        try:
            await self._run(run, about, prepared, scope, receive, send, live)
        finally:
            service.finished(run)

    async def _begin_response(self, prepared: PreparedRequest, *, is_started: bool) -> None:
        """Store a background response as unfinished, because the client may ask for it during the run."""
        if is_started and prepared.keeper is not None and prepared.is_background:
            await prepared.keeper.begin()

    async def _answer_pending(
        self, run: UpstreamRun, prepared: PreparedRequest, send: Send, record: RequestRecord
    ) -> None:
        """Answer the request for a background response at once, while the run goes on."""
        assert prepared.keeper is not None, "a background response is kept"
        record.status, record.answers, record.framing = 200, prepared.incoming.answers, "json"
        record.run = short_handle(run.handle)
        await send_object(send, prepared.keeper.pending, self._resumption.headers(run.handle))

    async def _run(
        self,
        run: UpstreamRun,
        about: About,
        prepared: PreparedRequest,
        scope: Scope,
        receive: Receive,
        send: Send,
        live: LiveStream,
    ) -> None:
        """Execute a run, and deliver it to its first client; return when both have ended."""
        record = live.record
        if self._retention.find:
            dialect = self._endpoint.dialects.to_write(prepared.incoming.answers)
            names = requested_names(scope, prepared.body.data, dialect)
            await run.note_request(record.request_id, names)
        record.run = short_handle(run.handle)
        take_ownership(scope)
        recorder = live.recorder
        delivery = RunDelivery(
            run.first_reader(about),
            self._endpoint,
            prepared.incoming,
            run_headers=self._resumption.headers(run.handle),
            client=ConnectedClient(scope, receive, send),
            run=run,
        )
        if recorder is not None:
            recorder.asked(prepared.incoming, prepared.body.data)
            recorder.delivered_by(delivery)
        pump = asyncio.create_task(run.pump())
        try:
            await self._resumption.follow(delivery, is_running=True)
            delivery.complete(record)
            record.client_left = (delivery.has_lost_client and not run.owned.ended) or None
            await asyncio.shield(pump)
        except asyncio.CancelledError:
            pump.cancel()
            raise
        finally:
            await asyncio.wait([pump])

    def _about(self, prepared: PreparedRequest, scope: Scope, handle: str) -> About:
        incoming = prepared.incoming
        return about_request(
            scope,
            body=digest(prepared.body.data),
            handle=handle,
            retention=self._retention,
            endpoint=self._endpoint.config.template,
            protocol=incoming.answers,
            framing=incoming.framing,
            request_id=incoming.request_id,
        )
