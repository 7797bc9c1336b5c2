"""An endpoint whose streams are kept: each request starts a run, joins one, or reads on in one.

Source: the contract of resumable streams, section 2.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope, Send

from streamweir.http.found_run import NothingLeft, check_same_request
from streamweir.http.headers import header_values
from streamweir.http.ownership import take_ownership
from streamweir.http.refusals import Refusal
from streamweir.http.requested_run import brought_handle, named_run, without_handle
from streamweir.metadata import unix_milliseconds
from streamweir.own_warnings import own_warning
from streamweir.requests.conversation_names import conversation_names
from streamweir.runs.handles import Position, new_handle, run_name
from streamweir.runs.owned_run import OwnedRun
from streamweir.runs.run_index import RunIndex
from streamweir.runs.run_reader import About
from streamweir.runs.store import StoreUnavailable
from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.resumption.kept_run import KeptRun
from streamweir_gateway.resumption.resumption import Resumption
from streamweir_gateway.resumption.run_delivery import RunDelivery
from streamweir_gateway.runs.destination import Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.open_streams import OpenStreams
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.proxy import Proxy, send_no_content
from streamweir_gateway.runs.request_body import RequestBodies, request_object
from streamweir_gateway.upstream.request import UpstreamRequest

__all__ = ["ResumableProxy"]

_UNAVAILABLE: Final = own_warning("RESUME_UNAVAILABLE")


class ResumableProxy(Proxy):
    """The ASGI endpoint of one path whose runs are kept."""

    def __init__(
        self,
        endpoint: Endpoint,
        resumption: Resumption,
        *,
        streams: OpenStreams,
        bodies: RequestBodies,
        observer: Observer,
    ) -> None:
        super().__init__(endpoint, streams=streams, bodies=bodies, observer=observer)
        assert endpoint.config.resume is not None, "an endpoint whose runs are kept"
        self._resume: Final = endpoint.config.resume
        self._resumption: Final = resumption
        resumption.endpoints[endpoint.config.template] = endpoint

    async def _serve(self, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        if header_values(scope["headers"], b"last-event-id"):
            handle, position = named_run(scope)
            if handle is not None and position is not None:
                self._check_method(scope)
                await self._read_on(handle, position, scope, receive, send, record)
                return
        await super()._serve(scope, receive, send, record)

    async def _read_on(
        self,
        handle: str,
        position: Position,
        scope: Scope,
        receive: Receive,
        send: Send,
        record: RequestRecord,
    ) -> None:
        """Send the rest of a run, and ask nothing upstream."""
        resumption, template = self._resumption, self._endpoint.config.template
        try:
            found = await resumption.find(scope, handle)
            await resumption.read(
                found,
                scope,
                receive,
                send,
                record=record,
                position=position,
                headers=[],
            )
        except NothingLeft:
            resumption.note_result(template, "nothing")
            await self._send_nothing(send, record, handle)
        except Refusal as refusal:
            result = {"RUN_NOT_FOUND": "not_found", "RUN_GONE": "gone", "STORE_UNAVAILABLE": "unavailable"}
            resumption.note_result(template, result.get(refusal.code, "not_found"))
            if scope["method"] == "GET" and refusal.code in ("RUN_NOT_FOUND", "RUN_GONE"):
                await self._send_nothing(send, record, handle)  # the only status that stops an EventSource
                return
            raise

    async def _send_nothing(self, send: Send, record: RequestRecord, handle: str) -> None:
        record.status = 204
        await send_no_content(send, record.request_id, self._resumption.headers(handle))

    def _asked_before_body(self, scope: Scope, record: RequestRecord) -> tuple[Incoming, UpstreamRequest]:
        return super()._asked_before_body(without_handle(scope), record)

    async def _answer(
        self, prepared: PreparedRequest, scope: Scope, receive: Receive, send: Send, record: RequestRecord
    ) -> None:
        resumption = self._resumption
        handle = brought_handle(scope) or new_handle()
        name = run_name(scope["state"].get("key"), handle)
        about, token = self._about(prepared, scope, handle), secrets.token_hex(16)
        store = resumption.registry.store
        try:
            is_ours = await store.claim(name, token, msgspec.json.encode(about), ttl=self._resume.ttl)
        except StoreUnavailable:
            resumption.note_result(about.endpoint, "unavailable")
            await super()._answer(prepared._replace(warnings=(_UNAVAILABLE,)), scope, receive, send, record)
            return
        if not is_ours:
            await self._join(handle, about, scope, receive, send, record)
            return
        index = await self._index(name, prepared, scope) if self._resume.find else None
        owned = OwnedRun(store, name, token, ttl=self._resume.ttl, max_bytes=self._resume.max_bytes)
        record.run = handle[:12]
        kept = KeptRun(
            owned,
            self._endpoint,
            prepared,
            index=index,
            record=record,
            observer=self._observer,
            streams=self._streams,
        )
        delivery = RunDelivery(
            store,
            name,
            handle,
            about,
            endpoint=self._endpoint,
            incoming=prepared.incoming,
            headers=resumption.headers(handle),
            client=ConnectedClient(scope, receive, send),
            kept=kept,
            is_first=True,
        )
        take_ownership(scope)
        await self._run_kept(kept, delivery, record)

    async def _run_kept(self, kept: KeptRun, delivery: RunDelivery, record: RequestRecord) -> None:
        """Let the run go on by itself and its first client read it; then wait for what is left of it."""
        under_way = self._resumption.registry.under_way
        under_way[kept.owned.name] = kept
        pump = asyncio.create_task(kept.pump())
        try:
            await self._resumption.deliver(delivery, is_running=True)
            delivery.note_in(record)
            record.client_left = (delivery.has_lost_client and not kept.owned.ended) or None
            await asyncio.shield(pump)
        except asyncio.CancelledError:
            pump.cancel()
            raise
        finally:
            await asyncio.wait([pump])
            del under_way[kept.owned.name]

    async def _join(
        self,
        handle: str,
        about: About,
        scope: Scope,
        receive: Receive,
        send: Send,
        record: RequestRecord,
    ) -> None:
        """Give the whole answer of a run that was started by the same request before."""
        found = await self._resumption.find(scope, handle)
        check_same_request(found.about, about)
        await self._resumption.read(found, scope, receive, send, record=record, position=None, headers=[])

    async def _index(self, name: str, prepared: PreparedRequest, scope: Scope) -> RunIndex:
        """Let the run be found by what its client calls the conversation, before anything is said."""
        incoming, store = prepared.incoming, self._resumption.registry.store
        if incoming.method == "GET":
            body: Mapping[str, Any] = dict(
                parse_qsl(incoming.query.decode("latin-1"), keep_blank_values=True)
            )
        else:
            body = request_object(prepared.body.data)
        reader = self._endpoint.dialects.to_write(incoming.answers).request_reader
        index = RunIndex(store, name, scope["state"].get("key"), ttl=self._resume.ttl)
        await index.note_request(incoming.request_id, conversation_names(body, reader))
        return index

    def _about(self, prepared: PreparedRequest, scope: Scope, handle: str) -> About:
        incoming = prepared.incoming
        return About(
            endpoint=self._endpoint.config.template,
            path=hashlib.sha256(scope["path"].encode("utf-8", "surrogatepass")).hexdigest()[:32],
            body=hashlib.sha256(prepared.body.data).hexdigest()[:32],
            protocol=incoming.answers,
            framing=incoming.framing,
            request_id=incoming.request_id,
            started_at=unix_milliseconds(),
            ttl=self._resume.ttl,
            handle=handle if self._resume.find else None,
        )
