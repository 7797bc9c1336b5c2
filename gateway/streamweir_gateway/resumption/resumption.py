"""The gateway as a shell of runs: whose they are, how one is delivered, and the record of each request.

Source: the contract of resumable streams, sections 2 to 4 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from starlette.types import Receive, Scope, Send

from streamweir.http.headers import Headers
from streamweir.http.ownership import take_ownership
from streamweir.http.requested_run import run_headers
from streamweir.http.response_headers import NOT_STORED
from streamweir.http.runs_app import RUNS_METHODS, RunsApp, RunsCall
from streamweir.runs.found_run import About, FoundRun
from streamweir.runs.handles import Position
from streamweir.runs.service import NothingLeft, RunGone
from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.resumption.run_delivery import RunDelivery
from streamweir_gateway.resumption.run_store import UpstreamRuns
from streamweir_gateway.routing import Route
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.open_streams import OpenStreams

__all__ = ["Resumption"]


class Resumption:
    """The runs of the endpoints of one configuration; a `RunsShell`.

    Attributes:
        service: the runs of the process.
        endpoints: those with `resume`, by their templates.

    Args:
        service: the runs of the process.
        path: where runs are read; None: at their endpoints only.
        streams: those of the process.
        observer: gets a record of each request.
    """

    def __init__(
        self, service: UpstreamRuns, path: str | None, streams: OpenStreams, observer: Observer
    ) -> None:
        self.service: Final = service
        self.endpoints: Final[dict[str, Endpoint]] = {}
        self._path: Final = path
        self._streams: Final = streams
        self._observer: Final = observer

    def routes(self) -> list[Route]:
        """Return the routes of the path of runs; none if there is no such path."""
        path = self._path
        if path is None:
            return []
        app = RunsApp(path, self)
        return [
            Route(f"{path}{template}", methods, app, None, needs_key=True, is_private=True)
            for template, methods in RUNS_METHODS.items()
        ]

    # What the runs app asks

    @property
    def finds(self) -> bool:
        """Whether any endpoint has `find`."""
        resumes = (endpoint.config.resume for endpoint in self.endpoints.values())
        return any(resume is not None and resume.find for resume in resumes)

    def owner_of(self, scope: Scope) -> str | None:
        """Return the name of the key of a request; None where no keys are asked for."""
        owner: str | None = scope["state"].get("key")
        return owner

    def serves(self, about: About) -> bool:
        """Return whether the endpoint of a run is in the configuration."""
        return about.endpoint in self.endpoints

    def headers(self, handle: str) -> Headers:
        """Return the headers of every answer of a run."""
        return run_headers(handle, self._path)

    @contextmanager
    def observe(self, call: RunsCall) -> Iterator[None]:
        """Record a request below the path of runs; the log gets that path and no handle."""
        state = call.scope["state"]
        call.note = record = RequestRecord(
            call.request_id,
            call.scope["method"],
            None,
            path=self._path,
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
            if call.found is not None:
                record.resumes = call.found.about.request_id
                if call.has_nothing_left:
                    self.note_result(call.found.about.endpoint, "nothing")
            self._observer.ended(record)

    async def deliver(self, call: RunsCall, found: FoundRun, position: Position | None) -> None:
        """Send a run from a position on; see `RunsShell`."""
        await self.read(
            found,
            call.scope,
            call.receive,
            call.send,
            record=call.note,
            position=position,
            headers=[NOT_STORED],
        )

    # Delivering

    async def look_up(self, scope: Scope, handle: str) -> FoundRun:
        """Return the client's run of a handle.

        Raises:
            RunError: there is none, or it cannot be read here.
            StoreUnavailable: the store does not answer.
        """
        found = await self.service.look_up(self.owner_of(scope), handle)
        if not self.serves(found.about):
            raise RunGone
        return found

    async def read(
        self,
        found: FoundRun,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        record: RequestRecord,
        position: Position | None = None,
        headers: Headers | None = None,
    ) -> None:
        """Deliver a run from a position on.

        Args:
            found: the run.
            scope: of the client's request.
            receive: reports that the client is gone.
            send: takes the response.
            record: of the client's request.
            position: how far the client is; None: it wants the whole run.
            headers: of the response, beside those of a run.

        Raises:
            RunError: the position is not one of this run, or the run cannot be read.
            Refusal: the endpoint does not answer in the protocol that the client asks for.
            NothingLeft: the client has all of it.
        """
        about, is_running = found.about, found.state.state == "running"
        endpoint = self.endpoints[about.endpoint]
        record.resumes, record.run = about.request_id, found.handle[:12]
        incoming = endpoint.incoming(
            scope, record.request_id, protocol=about.protocol, framing=about.framing
        )._replace(request_id=about.request_id)
        reader = self.service.read(found, position)
        scope["state"]["request_id"] = about.request_id
        if reader is None:
            raise NothingLeft
        take_ownership(scope)
        delivery = RunDelivery(
            reader,
            endpoint,
            incoming,
            headers=[*self.headers(found.handle), *(headers or ())],
            client=ConnectedClient(scope, receive, send),
            run=self.service.under_way.get(found.name),
        )
        await self.follow(delivery, is_running=is_running)
        delivery.note_in(record)
        self.note_result(about.endpoint, "followed" if is_running else "replayed")

    async def follow(self, delivery: RunDelivery, *, is_running: bool) -> None:
        """Run a delivery, counted among the streams and the readers of the process."""
        metrics = self._observer.metrics
        self._streams.add(delivery.supervisor)
        metrics.reader_opened()
        try:
            await delivery.run(is_running=is_running)
        finally:
            if delivery.has_seized:
                metrics.run_lost()
            metrics.reader_closed()
            self._streams.discard(delivery.supervisor)

    def note_result(self, template: str, result: str) -> None:
        """Count a request that wanted to read a run of an endpoint."""
        self._observer.metrics.resumed(template, result)
