"""An endpoint, ready to serve: its configuration and what follows from it for every request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir import Limits, Translator
from streamweir.asgi.headers import HeaderList, header_value
from streamweir.asgi.negotiation import UnknownProtocolError, choose_framing, choose_protocol
from streamweir.asgi.refusals import Refusal
from streamweir_gateway.config import EndpointConfig
from streamweir_gateway.outgoing import Outgoing
from streamweir_gateway.upstream import UpstreamResponse

__all__ = ["Endpoint"]


class Endpoint:
    """One path of the gateway.

    Args:
        config: of this endpoint.
        base_url: of its upstream.
        debug: let redacted details out.
    """

    def __init__(self, config: EndpointConfig, base_url: str, *, debug: bool) -> None:
        self.config = config
        self.debug = debug
        self.outgoing = Outgoing(config, base_url)
        self._translation = self._options()

    def translator(self, headers: HeaderList, query: bytes, *, request_id: str, target: str) -> Translator:
        """Return the translator of a request, in the protocol and framing that it asks for.

        `target` is the upstream's path: which of its endpoints is asked may settle options of the dialect.

        Raises:
            Refusal: it asks for a protocol that is not offered.
        """
        try:
            answers = choose_protocol(headers, query, self.config.answers)
        except UnknownProtocolError as error:
            raise Refusal("BAD_REQUEST", f"X-Streamweir-Protocol: {error}.") from error
        default: Any = self.config.framing
        framing = choose_framing(header_value(headers, b"accept"), default)
        return Translator(
            answers=answers,
            framing=framing,
            request_id=request_id,
            protocol_options=_merged(self.outgoing.options(target), self.config.protocol_options),
            **self._translation,
        )

    def forwarded(self, response: UpstreamResponse) -> list[tuple[bytes, bytes]]:
        """Return the headers of an upstream's response that the client gets."""
        return [
            (name.lower().encode("ascii"), value)
            for name in self.config.forward_response_headers
            for value in response.values_of(name)
        ]

    def _options(self) -> dict[str, Any]:
        """Return the options that are the same for every stream of this endpoint."""
        config = self.config
        return {
            "speaks": config.upstreams[0].speaks,
            "full_text": config.full_text,
            "stream_tool_arguments": config.stream_tool_arguments,
            "raw": config.raw,
            "limits": Limits(
                event_bytes=config.limits.event_bytes,
                stream_bytes=config.limits.stream_bytes,
                malformed_events=config.limits.malformed_events,
            ),
            "warnings": [
                {"message": warning.message, "message_code": warning.message_code}
                for warning in config.warnings
            ],
            "debug": self.debug,
        }


def _merged(
    settled: Mapping[str, Mapping[str, Any]], configured: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Put what the file says over what the upstream's path settles."""
    return {name: {**settled.get(name, {}), **configured.get(name, {})} for name in {*settled, *configured}}
