"""Serves resumable runs in the gateway: checks their owners, delivers them, and records each request.

Source: the contract of resumable streams, sections 2 to 4 and 7.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from msgspec.structs import replace
from starlette.types import Scope

from streamweir.http.ownership import take_ownership
from streamweir.http.runs_app import RUNS_METHODS, RunsApp, RunsCall, RunsShell
from streamweir.runs.found_run import About, FoundRun
from streamweir.runs.handles import Position, short_handle
from streamweir.runs.service import NothingLeft
from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.resumption.frames_after import FramesAfter
from streamweir_gateway.resumption.run_delivery import RunDelivery
from streamweir_gateway.resumption.run_store import UpstreamRuns
from streamweir_gateway.resumption.upstream_run import UpstreamRun
from streamweir_gateway.routing import Route
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStreams

__all__ = ["Resumption", "note_folded"]

logger = logging.getLogger("streamweir.gateway")

_RESULTS: Final = {"RUN_NOT_FOUND": "not_found", "RUN_GONE": "gone", "STORE_UNAVAILABLE": "unavailable"}
"""The results as which `streamweir_resumes_total` counts refusals. Any other refusal is `not_found`."""


class Resumption(RunsShell):
    """The runs of the endpoints of one configuration.

    Attributes:
        endpoints: the endpoints with `resume`, by their templates.

    Args:
        service: the runs of the process.
        path: the path at which runs are read; None: they are read at their endpoints only.
        streams: the streams of the process.
        observer: gets a record of each request.
    """

    def __init__(
        self, service: UpstreamRuns, path: str | None, streams: LiveStreams, observer: Observer
    ) -> None:
        super().__init__(service, path)
        self.endpoints: Final[dict[str, Endpoint]] = {}
        self._streams: Final = streams
        self._observer: Final = observer
        self._without_request: Final[set[asyncio.Task[None]]] = set()
        """The tasks of runs whose requests have already been answered."""

    def routes(self, *, are_open: bool) -> list[Route]:
        """Return the routes for reading runs; empty if the configuration has no path for it.

        Args:
            are_open: whether some runs belong to open endpoints, which are read without a key.
        """
        self.has_runs_without_owner = are_open
        if self.path is None:
            return []
        app = RunsApp(self.path, self)
        return [
            Route(
                f"{self.path}{template}",
                methods,
                app,
                None,
                needs_key=True,
                is_private=True,
                shows_open_runs=are_open and "{" in template,
            )
            for template, methods in RUNS_METHODS.items()
        ]

    @property
    def finds(self) -> bool:
        """Whether any endpoint has `find`."""
        resumes = (endpoint.config.resume for endpoint in self.endpoints.values())
        return any(resume is not None and resume.find for resume in resumes)

    def owner_of(self, scope: Scope) -> str | None:
        """Return the name of the key of a request; None if the gateway has no keys."""
        owner: str | None = scope["state"].get("key")
        return owner

    def serves(self, about: About) -> bool:
        """Return whether the endpoint of a run is in the configuration."""
        return about.endpoint in self.endpoints

    @contextmanager
    def observe(self, call: RunsCall) -> Iterator[None]:
        """Record a request to the path of runs. The log shows this path, but not the handle."""
        state = call.scope["state"]
        call.note = record = RequestRecord(
            call.request_id,
            call.scope["method"],
            None,
            path=self.path,
            key=state.get("key"),
            trace_id=settled_trace_context(call.scope).trace_id,
        )
        try:
            yield
        except ClientGone:
            record.reason = "client_gone"
        finally:
            record.status = call.status or record.status
            if call.refusal is not None:
                record.refused(call.refusal.code, state.get("client"))
                record.bytes_out = call.refusal_bytes
                self._note_refused_read(call, call.refusal.code)
            if call.folded is not None:
                record.answers, record.bytes_out = "standard", call.answer_bytes
                note_folded(record, call.folded)
            if call.found is not None:
                record.resumes = call.found.about.request_id
                record.run_endpoint = call.found.about.endpoint
                if call.has_nothing_left:
                    self.note_result(call.found.about.endpoint, "nothing")
            self._observer.ended(record)

    def go_on(self, run: UpstreamRun, record: RequestRecord) -> None:
        """Make a run whose request is answered without waiting for it.

        Args:
            run: the run, which was started.
            record: the record of the run.
        """
        task = asyncio.create_task(self._make(run, record))
        self._without_request.add(task)
        task.add_done_callback(self._without_request.discard)

    async def until_done(self) -> None:
        """Wait until all runs without a request have ended. Runs that a drain ends get a second for that."""
        while self._without_request:
            was_draining = self._streams.draining
            await asyncio.wait(self._without_request, timeout=1)
            if was_draining:
                for task in self._without_request:
                    task.cancel()

    async def _make(self, run: UpstreamRun, record: RequestRecord) -> None:
        record.run = short_handle(run.handle)
        try:
            await run.pump()
        except Exception:
            logger.exception("a background run failed", extra={"request_id": record.request_id})
        finally:
            self.service.finished(run)
            self._observer.ended(record)

    async def read_on(self, call: RunsCall, handle: str, position: Position) -> None:
        """Answer a request to an endpoint with the rest of a run; see `RunsShell`."""
        record: RequestRecord = call.note
        try:
            await super().read_on(call, handle, position)
        finally:
            record.status = call.status or record.status
            if call.refusal is not None:
                self.note_result(record.endpoint, _RESULTS.get(call.refusal.code, "not_found"))
            elif call.has_nothing_left:
                self.note_result(record.endpoint, "nothing")

    async def deliver(
        self,
        call: RunsCall,
        found: FoundRun,
        position: Position | None = None,
        *,
        after_frame: int | None = None,
    ) -> None:
        """Send a run as a stream; see `RunsShell`. The record of the request is `call.note`.

        Args:
            call: the request.
            found: the run.
            position: the position up to which the client has read; None: it wants the whole run.
            after_frame: the number of the last frame that is left out; None: no frame is left out.
        """
        about, scope, is_running = found.about, call.scope, found.state.state == "running"
        record: RequestRecord = call.note
        endpoint = self.endpoints[about.endpoint]
        record.resumes, record.run = about.request_id, short_handle(found.handle)
        record.run_endpoint = about.endpoint
        asked = endpoint.incoming(scope, record.request_id, protocol=about.protocol, framing=about.framing)
        incoming = replace(asked, request_id=about.request_id)
        reader = self.service.read(found, position)
        scope["state"]["request_id"] = about.request_id
        if reader is None:
            raise NothingLeft
        take_ownership(scope)
        recorder = self._streams.recorder(record, scope)
        delivery = RunDelivery(
            reader,
            endpoint,
            incoming,
            run_headers=self.headers(found.handle),
            client=ConnectedClient(scope, call.receive, call.send),
            run=self.service.under_way.get(found.name),
        )
        if after_frame is not None:
            delivery.frames_after = FramesAfter(after_frame)
        if recorder is not None:
            recorder.asked(incoming, b"")
            recorder.delivered_by(delivery)
            recorder.reads_run(reader)
        try:
            await self.follow(delivery, is_running=is_running)
        finally:
            delivery.complete(record)  # also if the client had everything, and is sent nothing
        self.note_result(about.endpoint, "followed" if is_running else "replayed")

    async def follow(self, delivery: RunDelivery, *, is_running: bool) -> None:
        """Execute a delivery, and count it among the streams and the readers of the process meanwhile."""
        metrics = self._observer.metrics
        self._streams.add(delivery.reading)
        metrics.reader_opened()
        try:
            await delivery.run(is_running=is_running)
        finally:
            if delivery.reader.has_seized:
                metrics.run_lost()
            metrics.reader_closed()
            self._streams.discard(delivery.reading)

    def _note_refused_read(self, call: RunsCall, code: str) -> None:
        """Count a refused request to read a run. If the run was not found, its endpoint is unknown."""
        if call.scope["method"] == "GET" and code in _RESULTS:
            self.note_result("" if call.found is None else call.found.about.endpoint, _RESULTS[code])

    def note_result(self, template: str | None, result: str) -> None:
        """Count the result of a request to read a run of an endpoint."""
        if template is not None:
            self._observer.metrics.resumed(template, result)


def note_folded(record: RequestRecord, folded: dict[str, Any]) -> None:
    """Note the facts of a run whose result answers the request.

    Args:
        record: the record of the request.
        folded: the folded result of the run.
    """
    record.framing, record.events = "json", folded["run"]["events"]
    record.reason = folded.get("reason")
    record.reads_whole = record.reason is not None
    if (error := folded.get("error")) is not None:
        record.code = error["code"]
