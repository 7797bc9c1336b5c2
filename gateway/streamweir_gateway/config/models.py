"""The file, key by key: what may stand where, and the built-in defaults.

A model holds what the file says and nothing else; `merging` puts the layers over each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from streamweir.errors import MACHINE_CODE
from streamweir_gateway.config.auth_values import RATE_LIMIT
from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.http import (
    HEADER_NAME,
    LISTEN,
    METHOD,
    QUERY_NAME,
    RESPONSE_HEADER_NAME,
    UPSTREAM_NAME,
    UPSTREAM_REFERENCE,
    Address,
)
from streamweir_gateway.config.interpolation import Unresolved
from streamweir_gateway.config.resolved import RateLimit
from streamweir_gateway.config.scalars import COUNT, Scalar, choice, only, read_text, text_schema
from streamweir_gateway.config.section_or_keyword import SectionOrKeyword
from streamweir_gateway.config.sections import (
    NOT_EMPTY,
    ONE_OR_MORE,
    Duration,
    DurationOrOff,
    Flag,
    Headers,
    Section,
    Size,
    Text,
    TimeoutsSection,
    absent,
    made_by,
    one_or_more,
    written,
)
from streamweir_gateway.config.server_sections import OPEN, AuthSection, CorsSection, ServerSection
from streamweir_gateway.config.templates import read_endpoint_path, read_upstream_path
from streamweir_gateway.config.upstream_sections import UpstreamSection

__all__ = [
    "ELSEWHERE",
    "HOMES",
    "NOT_BUILT",
    "DefaultsSection",
    "EndpointSection",
    "GatewayFile",
    "LimitsSection",
    "OnDisconnectSection",
    "OptionsSection",
    "WarningSection",
]


def _nothing_if_opaque(value: Any) -> Any:
    return {} if isinstance(value, Unresolved) else value


def _read_code(value: Any) -> str:
    code = read_text(value)
    if not MACHINE_CODE.fullmatch(code):
        raise InvalidValue("must be 3 to 64 capital letters, digits and _, a letter first")
    return code


def _read_option(value: Any) -> str:
    """Read the value of a dialect's option; `version: 1.0` and `tools: true` mean the words."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else read_text(value)


_PATH: Final = text_schema("^/")

Option: TypeAlias = Annotated[str, Scalar(_read_option, {"type": ["string", "number", "boolean"]})]
Options: TypeAlias = Annotated[Mapping[str, Option], AfterValidator(MappingProxyType)]
AuthOrOpen: TypeAlias = Annotated[
    AuthSection | None, SectionOrKeyword(AuthSection, {"open": OPEN}, "{keys: {NAME: KEY}}", quotes=False)
]
Rate: TypeAlias = Annotated[RateLimit | None, RATE_LIMIT]
Name: TypeAlias = Annotated[str, UPSTREAM_NAME]
EndpointPath: TypeAlias = Annotated[str, Scalar(read_endpoint_path, _PATH, is_key=True)]


class LimitsSection(Section):
    """How large things may become before a stream or a request is refused."""

    event_bytes: Size = written("8MiB")
    """One event from the upstream."""
    stream_bytes: Size = written("256MiB")
    """All bytes from the upstream, decoded."""
    request_bytes: Size = written("10MiB")
    """The body of a client's request."""
    malformed_events: Annotated[int, COUNT] = 100
    """Events of one stream that cannot be read."""


class WarningSection(Section):
    """A warning that every stream of the endpoint begins with."""

    message: Text
    """Text for the user."""
    message_code: Annotated[str | None, Scalar(_read_code, text_schema(f"^{MACHINE_CODE.pattern}$"))] = (
        absent()
    )
    """For programs, such as `DEPRECATED`."""


class OnDisconnectSection(Section):
    """How long the upstream's run goes on when the client has gone away."""

    continue_for: Duration
    """Then it is cancelled."""


class OptionsSection(Section):
    """What may stand at an endpoint and in `defaults`."""

    methods: Annotated[tuple[Annotated[str, METHOD], ...], NOT_EMPTY] = written(["POST"])
    """HTTP methods that clients may use."""
    speaks: Text = "auto"
    """The dialect of the upstream; `auto` detects it from the first bytes."""
    answers: Annotated[
        tuple[Text, ...],
        one_or_more("must be a protocol, or a list of protocols"),
        NOT_EMPTY,
        ONE_OR_MORE,
    ] = written(["standard"])
    """Protocols that clients may have; the first is the default."""
    framing: Annotated[str, choice("sse", "ndjson")] = "sse"
    """The framing where the client's Accept leaves it open."""
    request: Annotated[str, only("passthrough", "mapped")] = "passthrough"
    """How the client's body becomes the upstream's."""
    timeouts: TimeoutsSection = made_by(TimeoutsSection)
    heartbeat: DurationOrOff = written("15s")
    """A sign of life after so much silence; may be `off`."""
    headers: Headers = Field(default_factory=dict, repr=False)
    """Headers of the request to the upstream."""
    forward_headers: tuple[Annotated[str, HEADER_NAME], ...] = ()
    """Headers of the client that go on to the upstream."""
    forward_query: tuple[Annotated[str, QUERY_NAME], ...] = ()
    """Query parameters of the client that go on to the upstream."""
    forward_response_headers: tuple[Annotated[str, RESPONSE_HEADER_NAME], ...] = ()
    """Headers of the upstream's response that the client gets."""
    on_disconnect: Annotated[
        OnDisconnectSection | float | None,
        SectionOrKeyword(OnDisconnectSection, {"cancel": 0.0, "continue": None}, "{continue_for: DURATION}"),
    ] = written("cancel")
    """What becomes of the upstream's run when the client goes away."""
    full_text: Annotated[str, choice("dedupe", "append", "replace")] = "dedupe"
    """What to do when an upstream repeats the whole answer."""
    stream_tool_arguments: Flag = False
    """Send a tool's arguments piece by piece too."""
    protocol_options: Annotated[Mapping[str, Options], AfterValidator(MappingProxyType)] = Field(
        default_factory=dict
    )
    """By dialect: what it lets one choose when reading or writing it."""
    raw: Flag = False
    """Add `metadata.source`, the upstream's own event."""
    limits: LimitsSection = made_by(LimitsSection)
    warnings: tuple[WarningSection, ...] = ()
    """Warnings that every stream begins with."""
    rate_limit: Rate = absent()
    """Requests to this endpoint, such as `600/minute`, in place of the gateway's."""


class DefaultsSection(OptionsSection):
    """What holds for every endpoint that does not say otherwise."""


class EndpointSection(OptionsSection):
    """One path that clients may call, and the upstream behind it."""

    upstream: Annotated[
        tuple[Annotated[str, UPSTREAM_REFERENCE], ...],
        one_or_more("must be a name of `upstreams`, a URL, or a list of either"),
        NOT_EMPTY,
        ONE_OR_MORE,
    ] = Field(repr=False)
    """A name of `upstreams`, a URL or `demo:<dialect>`; of a list, the first that gives an event."""
    path: Annotated[str | None, Scalar(read_upstream_path, _PATH)] = absent()
    """Appended to the upstream's URL; `{names}` come from the endpoint's own path."""


class GatewayFile(Section):
    """The configuration file of the streamweir gateway."""

    listen: Annotated[Address, LISTEN] = written("127.0.0.1:8080")
    """HOST:PORT; an IPv6 address in brackets."""
    defaults: DefaultsSection = made_by(DefaultsSection)
    upstreams: Annotated[Mapping[Name, UpstreamSection], AfterValidator(MappingProxyType)] = Field(
        default_factory=dict
    )
    """Backends by name."""
    endpoints: Annotated[
        Mapping[EndpointPath, EndpointSection],
        BeforeValidator(_nothing_if_opaque),
        AfterValidator(MappingProxyType),
    ]
    """By path, such as `/support/{agent_id}/chat`."""
    auth: AuthOrOpen = absent()
    """Who may call; `open`: whoever can reach the address."""
    rate_limit: Rate = absent()
    """Requests per key, or else per client address, such as `600/minute`."""
    cors: Annotated[CorsSection | None, SectionOrKeyword(CorsSection)] = absent()
    """Which pages of other origins may read the answers."""
    server: ServerSection = made_by(ServerSection)
    debug: Flag = False
    """Add redacted details to errors and warnings."""


NOT_BUILT: Final[Mapping[type[Section], tuple[str, ...]]] = {
    GatewayFile: ("dialects",),
}
"""Keys of the contract that have no field yet. To build one: give it a field, strike it out here."""

ELSEWHERE: Final[Mapping[type[Section], Mapping[str, str]]] = {
    DefaultsSection: {
        "upstream": "stands at each endpoint, not in defaults",
        "path": "stands at each endpoint, not in defaults",
    },
}
"""Keys that are right, in the wrong place."""

HOMES: Final[Mapping[str, type[Section]]] = {
    "at the top": GatewayFile,
    "in `defaults` or at an endpoint": OptionsSection,
    "under `upstreams.NAME`": UpstreamSection,
    "in `server`": ServerSection,
    "in `timeouts`": TimeoutsSection,
    "in `limits`": LimitsSection,
}
"""Where a key stands that is written in another place; only those that can be told by their name."""
