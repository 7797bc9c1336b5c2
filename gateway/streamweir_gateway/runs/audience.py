"""Who follows a run while it goes on: the interface between a run and whatever its events go to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from streamweir.codec.base import Options
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["Audience"]


class Audience(Protocol):
    """Gets the events of a run: a client, several of them, a log, or nobody.

    A run opens a sink for each of its attempts. What is written to one stays there until it is sent: nobody
    gets to see anything of an attempt that is given up.
    """

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> EventSink:
        """Return what takes the events of another attempt.

        Args:
            reader: of what the upstream answers.
            options: by dialect, what it lets one choose.
            write_timeout: for how many seconds a client may not read meanwhile; None: for ever.
        """
        ...

    def forward_headers(self, response: UpstreamResponse) -> None:
        """Take the headers of the upstream's response of which some may go on, unless it is too late."""
        ...

    def send_at_once(self, now: float) -> bool:
        """Send what was written to the last sink, without waiting; False leaves it to `send`.

        Args:
            now: `time.monotonic()`.
        """
        ...

    @property
    def has_unsent(self) -> bool:
        """Something waits for `send` that could not be sent at once."""
        ...

    async def send(self) -> None:
        """Send what was written to the last sink, as soon as it is taken."""
        ...
