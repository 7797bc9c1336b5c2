"""The interface of a recorder, which follows one request for the console from its arrival to its end.

The methods are called in the order of the stream. They must not raise and must not wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from streamweir.codec.base import Options
from streamweir.delivery.client_port import ClientPort
from streamweir.delivery.supervisor import Dropped
from streamweir.errors import ErrorInfo
from streamweir.runs.handles import Position
from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.retry_plan import Failure
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["AttemptFacts", "DeliveryFacts", "ReaderFacts", "StreamRecorder"]


class AttemptFacts(Protocol):
    """The facts about an attempt that has ended."""

    @property
    def stream(self) -> StreamNormalizer:
        """The reader and the pipeline of the attempt."""
        ...

    @property
    def failure(self) -> Failure | None:
        """The failure before the first event; None if a stream has begun."""
        ...

    @property
    def is_broken(self) -> bool:
        """Whether the attempt ended before the body of the upstream did."""
        ...


class ClientFacts(Protocol):
    """The supervisor of a delivery."""

    @property
    def dropped(self) -> Dropped | None:
        """Why the client is sent nothing any longer; None while it is."""
        ...


class DeliveryFacts(Protocol):
    """A delivery under way."""

    @property
    def bytes(self) -> int:
        """The bytes of the body that have been sent."""
        ...

    @property
    def status(self) -> int:
        """The status of the response."""
        ...

    @property
    def is_started(self) -> bool:
        """Whether the headers have left."""
        ...

    @property
    def supervisor(self) -> ClientFacts:
        """The supervisor of the client."""
        ...


class ReaderFacts(Protocol):
    """A reader of a stored run."""

    @property
    def at(self) -> int:
        """The sequence of the next event that is read."""
        ...

    @property
    def position(self) -> Position | None:
        """Where the client goes on; None: at the beginning."""
        ...


class StreamRecorder(Protocol):
    """Keeps what the console shows of one request."""

    def asked(self, incoming: Incoming, body: bytes) -> None:
        """Take the client's request."""
        ...

    def attempt_began(
        self,
        attempt: int,
        destination: Destination,
        stream: StreamNormalizer,
        options: Mapping[str, Options],
    ) -> None:
        """Take note that an upstream is asked.

        Args:
            attempt: its number, from 1.
            destination: the upstream.
            stream: translates the answer.
            options: of each dialect, by its name.
        """
        ...

    def sent(self, request: UpstreamRequest) -> None:
        """Take note of a request that is sent to the upstream."""
        ...

    def given(self, facts: Mapping[str, str]) -> None:
        """Take the facts from the requests that the decoder of the answer needs."""
        ...

    def answered(self, response: UpstreamResponse) -> None:
        """Follow a response; its body has not been read."""
        ...

    def attempt_ended(self, attempt: int, error: ErrorInfo | None, facts: AttemptFacts) -> None:
        """Take note that an attempt is over.

        Args:
            attempt: its number.
            error: that the stream of the attempt ended with; None without one.
            facts: about the attempt.
        """
        ...

    def client(self, port: ClientPort, *, reports_relays: bool = False) -> ClientPort:
        """Return the client with each sent piece recorded.

        Args:
            port: the client.
            reports_relays: its pieces are those of the reads that are relayed at once, each of which
                `on_relayed` of the response gets. Then the recorder may take both of them there.
        """
        ...

    def delivered_by(self, delivery: DeliveryFacts) -> None:
        """Take the delivery to the client."""
        ...

    def reads_run(self, reader: ReaderFacts) -> None:
        """Take the reader of a stored run: the request has no upstream of its own."""
        ...
