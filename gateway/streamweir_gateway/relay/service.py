"""One upstream that runs a whole service, with everything needed to ask it."""

from __future__ import annotations

from streamweir.classification.statuses import STREAM_STATUSES
from streamweir.http.headers import media_type_of
from streamweir.translation.reader import StreamReader
from streamweir_gateway.config import UpstreamConfig
from streamweir_gateway.relay.agent_stream import stream_media_types
from streamweir_gateway.relay.forwarded import Forwarding
from streamweir_gateway.relay.relay_request import RelayRequestBuilder
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["Service"]


class Service:
    """One upstream of an endpoint with `relay: all`.

    Attributes:
        endpoint: the endpoint, with this upstream only.
        destination: the upstream.
        requests: writes the requests.
        media_types: the media types that an agent stream may have.

    Args:
        endpoint: becomes the attribute.
        upstream: the configuration of the upstream.
        base_url: the base URL of the upstream.
        forwarding: writes the headers that tell where a request comes from.
    """

    def __init__(
        self, endpoint: Endpoint, upstream: UpstreamConfig, base_url: str, forwarding: Forwarding
    ) -> None:
        self.endpoint = endpoint
        self.destination: Destination = endpoint.destinations[0]
        self.requests = RelayRequestBuilder(endpoint.config, upstream, base_url, forwarding)
        self.media_types = stream_media_types(upstream.speaks, endpoint.dialects)

    def may_be_agent_stream(self, method: str, response: TransportResponse) -> bool:
        """Return whether status and media type allow an agent stream."""
        if response.status not in STREAM_STATUSES or method == "HEAD":
            return False
        return media_type_of(response.headers) in self.media_types

    def reader(self, target: str) -> StreamReader:
        """Return a reader that finds out whether a response is an agent stream.

        Args:
            target: the target of the request.
        """
        return self.destination.reader(self.destination.protocol_options(target))
