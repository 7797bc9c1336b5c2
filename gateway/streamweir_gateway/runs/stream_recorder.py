"""The interface of a recorder, which follows one request for the console from arrival to end.

The methods are called in the order of the stream. They must not raise and must not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from streamweir.codec.base import Options
from streamweir.delivery.response_watcher import ResponseWatcher
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
        """The reader and the pipeline of the attempt's stream."""

    @property
    def failure(self) -> Failure | None:
        """The failure before the first event; None if a stream has begun."""

    @property
    def is_broken(self) -> bool:
        """Whether the attempt ended before the body of the upstream did."""


class ClientFacts(Protocol):
    """The supervisor of a delivery, as a recorder sees it."""

    @property
    def dropped(self) -> Dropped | None:
        """The reason why sending to the client stopped early; None while the client is sent the stream."""


class DeliveryFacts(Protocol):
    """A delivery under way, as a recorder sees it.

    Attributes:
        watcher: learns what is sent, but for the pieces that are sent at once.
        on_sent_at_once: called with each piece that is sent at once; None: no call.
    """

    watcher: ResponseWatcher | None
    on_sent_at_once: Callable[[bytes], object] | None

    @property
    def bytes(self) -> int:
        """The number of bytes of the body that have been sent."""

    @property
    def status(self) -> int:
        """The status of the response."""

    @property
    def is_started(self) -> bool:
        """Whether the headers have been sent."""

    @property
    def supervisor(self) -> ClientFacts:
        """The supervisor of the delivery's client."""


class ReaderFacts(Protocol):
    """A reader of a stored run, as a recorder sees it."""

    @property
    def at(self) -> int:
        """The sequence number of the next event to read."""

    @property
    def position(self) -> Position | None:
        """The position from which the client resumes; None: the beginning."""

    @property
    def session_id(self) -> str | None:
        """The session of the run; None while it is unknown."""

    @property
    def thread_id(self) -> str | None:
        """The conversation of the run; None while it is unknown."""


class StreamRecorder(Protocol):
    """Keeps the data that the console shows of one request."""

    def asked(self, incoming: Incoming, body: bytes | int) -> None:
        """Note the client's request.

        Args:
            incoming: the request.
            body: its body; the number of bytes if they have been passed on without being kept.
        """

    def attempt_began(
        self, attempt: int, destination: Destination, stream: StreamNormalizer, options: Mapping[str, Options]
    ) -> None:
        """Note that an upstream is asked.

        Args:
            attempt: the number of the attempt, from 1.
            destination: the upstream.
            stream: translates the answer.
            options: the options of each dialect, by its name.
        """

    def sent(self, request: UpstreamRequest) -> None:
        """Note a request that is sent to the upstream."""

    def given(self, facts: Mapping[str, str]) -> None:
        """Note facts from the requests that the decoder of the answer needs."""

    def answered(self, response: UpstreamResponse) -> None:
        """Follow a response whose body has not been read yet."""

    def attempt_ended(self, attempt: int, error: ErrorInfo | None, facts: AttemptFacts) -> None:
        """Note that an attempt is over.

        Args:
            attempt: the number of the attempt.
            error: the error that ended the stream of the attempt; None if it ended well.
            facts: the facts about the attempt.
        """

    def delivered_by(self, delivery: DeliveryFacts, *, reports_relays: bool = False) -> None:
        """Watch the delivery that sends the stream to the client.

        Args:
            delivery: the delivery, before it sends anything.
            reports_relays: whether each piece that is sent at once comes from a read that is relayed at once
                and that `on_relayed` of the response reports. The recorder may then take both the read and
                the piece there.
        """

    def reads_run(self, reader: ReaderFacts) -> None:
        """Note the reader of a stored run: the request has no upstream of its own."""
