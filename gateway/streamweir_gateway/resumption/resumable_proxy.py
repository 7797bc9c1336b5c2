"""An endpoint with `resume`: each request starts a run, joins one, or reads on in one.

Source: the contract of resumable streams, section 2.
"""

from __future__ import annotations

import asyncio
from typing import Final

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
from streamweir.runs.handles import new_handle
from streamweir.runs.store import StoreUnavailable
from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.resumption.resumption import Resumption
from streamweir_gateway.resumption.run_delivery import RunDelivery
from streamweir_gateway.resumption.upstream_run import UpstreamRun
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.proxy import Proxy
from streamweir_gateway.runs.request_body import RequestBodies
from streamweir_gateway.upstream.request import UpstreamRequest

__all__ = ["ResumableProxy"]

_UNAVAILABLE: Final = own_warning("RESUME_UNAVAILABLE")


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

    async def _answer(
        self, prepared: PreparedRequest, scope: Scope, receive: Receive, send: Send, record: RequestRecord
    ) -> None:
        service, owner = self._resumption.service, self._resumption.owner_of(scope)
        run = UpstreamRun(
            service.store,
            brought_handle(scope) or new_handle(),
            self._endpoint,
            prepared,
            owner=owner,
            record=record,
            observer=self._observer,
            live=self._streams.open(record, scope, self._endpoint.taps),
        )
        about = self._about(prepared, scope, run.handle)
        try:
            is_started = await service.start(run, about)
        except StoreUnavailable:
            self._resumption.note_result(about.endpoint, "unavailable")
            await super()._answer(prepared._replace(warnings=(_UNAVAILABLE,)), scope, receive, send, record)
            return
        if not is_started:
            await self._resumption.join(RunsCall(scope, receive, send, note=record), run.handle, about)
            return
        try:
            await self._run(run, about, prepared, scope, receive, send, record)
        finally:
            service.finished(run)

    async def _run(
        self,
        run: UpstreamRun,
        about: About,
        prepared: PreparedRequest,
        scope: Scope,
        receive: Receive,
        send: Send,
        record: RequestRecord,
    ) -> None:
        """Make a run, and deliver it to its first client; return when both are done."""
        if self._retention.find:
            dialect = self._endpoint.dialects.to_write(prepared.incoming.answers)
            names = requested_names(scope, prepared.body.data, dialect)
            await run.note_request(record.request_id, names)
        record.run = run.handle[:12]
        take_ownership(scope)
        delivery = RunDelivery(
            run.first_reader(about),
            self._endpoint,
            prepared.incoming,
            headers=[],
            run_headers=self._resumption.headers(run.handle),
            client=ConnectedClient(scope, receive, send),
            run=run,
        )
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
