"""Finding a run for a client, and reading it to the client: at its endpoint or where runs are read.

Source: the contract of resumable streams, sections 2 to 4.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.types import Receive, Scope, Send

from streamweir.http.found_run import NothingLeft, find_run, store_unavailable
from streamweir.http.headers import Headers
from streamweir.http.ownership import take_ownership
from streamweir.http.refusals import Refusal
from streamweir.http.requested_run import RUN_HEADER, check_position, has_all
from streamweir.runs.handles import Position
from streamweir.runs.run_reader import About
from streamweir.runs.store import RunState, StoreUnavailable
from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.observability.metrics import Metrics
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.resumption.kept_run import KeptRun
from streamweir_gateway.resumption.registry import RunRegistry
from streamweir_gateway.resumption.run_delivery import RunDelivery
from streamweir_gateway.runs.destination import Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.open_streams import OpenStreams

__all__ = ["FoundRun", "Resumption"]


class FoundRun(NamedTuple):
    """A run that is there, and is the client's."""

    handle: str
    name: str
    state: RunState
    about: About
    endpoint: Endpoint


class Resumption:
    """What the endpoints of one configuration share.

    Attributes:
        registry: of the process.
        endpoints: by template, those whose runs are kept.

    Args:
        registry: of the process.
        path: where runs are read; None: nowhere but at their endpoints.
        streams: those of the process.
        metrics: where reading is counted.
    """

    def __init__(
        self, registry: RunRegistry, path: str | None, streams: OpenStreams, metrics: Metrics
    ) -> None:
        self.registry: Final = registry
        self.endpoints: dict[str, Endpoint] = {}
        self._path: Final = path
        self._streams: Final = streams
        self._metrics: Final = metrics

    def headers(self, handle: str) -> Headers:
        """Return what every answer of a run has."""
        headers: Headers = [(RUN_HEADER, handle.encode("ascii"))]
        if self._path is not None:
            headers.append((b"content-location", f"{self._path}/{handle}".encode("ascii")))
        return headers

    async def find(self, scope: Scope, handle: str) -> FoundRun:
        """Return the client's run of this handle.

        Raises:
            Refusal: there is none, it is gone, or the store is out of reach.
        """
        try:
            found = await find_run(self.registry.store, scope["state"].get("key"), handle)
        except StoreUnavailable:
            raise store_unavailable() from None
        endpoint = self.endpoints.get(found.about.endpoint)
        if endpoint is None:
            raise Refusal("RUN_GONE")
        return FoundRun(*found, endpoint)

    async def read(
        self,
        found: FoundRun,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        record: RequestRecord,
        position: Position | None,
        headers: Headers,
    ) -> None:
        """Deliver a run from a position on.

        Args:
            found: the run.
            scope: of the client's request.
            receive: reports that the client is gone.
            send: takes the response.
            record: of the client's request.
            position: how far the client is; None: it wants the whole.
            headers: of the response, beside those of a run.

        Raises:
            Refusal: the position is not one of this run, or the protocol none of these answers.
            NothingLeft: the client has all of it.
        """
        state = found.state
        record.resumes = found.about.request_id
        record.run = found.handle[:12]
        check_position(position, found.handle, state)
        incoming = reading_request(found, scope, record.request_id)
        scope["state"]["request_id"] = found.about.request_id
        if has_all(position, state):
            raise NothingLeft
        take_ownership(scope)
        delivery = RunDelivery(
            self.registry.store,
            found.name,
            found.handle,
            found.about,
            endpoint=found.endpoint,
            incoming=incoming,
            headers=[*self.headers(found.handle), *headers],
            client=ConnectedClient(scope, receive, send),
            kept=self._kept(found),
            position=position,
        )
        await self.deliver(delivery, is_running=state.state == "running")
        delivery.note_in(record)
        self._metrics.resumed(found.about.endpoint, "followed" if state.state == "running" else "replayed")

    async def deliver(self, delivery: RunDelivery, *, is_running: bool) -> None:
        """Let a client read."""
        self._streams.add(delivery.supervisor)
        self._metrics.reader_opened()
        try:
            await delivery.run(is_running=is_running)
        finally:
            if delivery.has_seized:
                self._metrics.run_lost()
            self._metrics.reader_closed()
            self._streams.discard(delivery.supervisor)

    def note_result(self, template: str, result: str) -> None:
        """Count a client that wanted to resume and could not, or need not."""
        self._metrics.resumed(template, result)

    def _kept(self, found: FoundRun) -> KeptRun | None:
        return self.registry.under_way.get(found.name)


def reading_request(found: FoundRun, scope: Scope, request_id: str) -> Incoming:
    """Return the request of a client that reads a run: what it leaves open is as the first client had it."""
    about = found.about
    incoming = found.endpoint.incoming(scope, request_id, protocol=about.protocol, framing=about.framing)
    return incoming._replace(request_id=about.request_id)
