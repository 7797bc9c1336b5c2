"""The file, key by key: what may stand where, and the built-in defaults.

A model holds what the file says and nothing else; `merging` puts the layers over each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from .http import (
    HEADER_NAME,
    HEADER_VALUE,
    LISTEN,
    METHOD,
    QUERY_NAME,
    RESPONSE_HEADER_NAME,
    UPSTREAM_NAME,
    UPSTREAM_REFERENCE,
    UPSTREAM_URL,
    Address,
)
from .interpolation import Opaque
from .leaf import COUNT, DURATION_OR_OFF, FLAG, SIZE, TEXT, Leaf, choice, only, read_text, text_schema
from .problems import Refusal
from .templates import read_endpoint_path, read_upstream_path
from .units import OFF

__all__ = [
    "ELSEWHERE",
    "NOT_BUILT",
    "DefaultsSection",
    "EndpointSection",
    "GatewayFile",
    "LimitsSection",
    "OptionsSection",
    "Section",
    "ServerSection",
    "TimeoutsSection",
    "UpstreamSection",
    "WarningSection",
]

Item = TypeVar("Item")


def _written(default: str | list[str]) -> Any:
    """Return a field's default as the file would say it: it is read like one, and shown so in the schema."""
    return Field(default)


def _made_by(section: type[Section]) -> Any:
    """Return the default of a section that the file does not hold."""
    return Field(default_factory=section)


def _not_empty(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if not items:
        raise Refusal("must name at least one")
    return items


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _nothing_if_opaque(value: Any) -> Any:
    return {} if isinstance(value, Opaque) else value


def _read_code(value: Any) -> str:
    code = read_text(value)
    if not re.fullmatch(_CODE, code):
        raise Refusal("must be 3 to 64 capital letters, digits and _, a letter first")
    return code


def _read_path_or_off(value: Any) -> str | None:
    if value == OFF:
        return None
    path = read_endpoint_path(value)
    if "{" in path:
        raise Refusal("must be a path without names in braces")
    return path


def _read_option(value: Any) -> str:
    """Read the value of a dialect's option; `version: 1.0` and `tools: true` mean the words."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else read_text(value)


_CODE: Final = "[A-Z][A-Z0-9_]{2,63}"
_PATH: Final = text_schema("^/")
_ONE_OR_MORE: Final = {"anyOf": [text_schema(), {"type": "array", "items": text_schema(), "minItems": 1}]}

Text: TypeAlias = Annotated[str, TEXT]
Flag: TypeAlias = Annotated[bool, FLAG]
Duration: TypeAlias = Annotated[float | None, DURATION_OR_OFF]
Size: TypeAlias = Annotated[int, SIZE]
PathOrOff: TypeAlias = Annotated[str | None, Leaf(_read_path_or_off, text_schema("^(/|off$)"), stand_in=None)]
Option: TypeAlias = Annotated[str, Leaf(_read_option, {"type": ["string", "number", "boolean"]})]
Headers: TypeAlias = Annotated[
    Mapping[Annotated[str, HEADER_NAME], Annotated[str, HEADER_VALUE]],
    AfterValidator(MappingProxyType),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]
Options: TypeAlias = Annotated[Mapping[str, Option], AfterValidator(MappingProxyType)]
Name: TypeAlias = Annotated[str, UPSTREAM_NAME]
EndpointPath: TypeAlias = Annotated[str, Leaf(read_endpoint_path, _PATH, is_key=True)]


class Section(BaseModel):
    """A mapping in the file; `model_fields_set` tells what it really says."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


class TimeoutsSection(Section):
    """How long each part of a stream may take; each may be `off`."""

    connect: Duration = _written("5s")
    """Until the connection to the upstream stands."""
    first_event: Duration = _written("60s")
    """From sending the request to the first decoded event."""
    idle: Duration = _written("120s")
    """Between two bytes from the upstream, after the first event."""
    total: Duration = _written("off")
    """Over all attempts."""
    write: Duration = _written("30s")
    """How long a client may not read."""


class LimitsSection(Section):
    """How large things may become before a stream or a request is refused."""

    event_bytes: Size = _written("8MiB")
    """One event from the upstream."""
    stream_bytes: Size = _written("256MiB")
    """All bytes from the upstream, decoded."""
    request_bytes: Size = _written("10MiB")
    """The body of a client's request."""
    malformed_events: Annotated[int, COUNT] = 100
    """Events of one stream that cannot be read."""


class WarningSection(Section):
    """A warning that every stream of the endpoint begins with."""

    message: Text
    """Text for the user."""
    message_code: Annotated[str | None, Leaf(_read_code, text_schema(f"^{_CODE}$"))] = Field(
        None, validate_default=False
    )
    """For programs, such as `DEPRECATED`."""


class OptionsSection(Section):
    """What may stand at an endpoint and in `defaults`."""

    methods: Annotated[tuple[Annotated[str, METHOD], ...], AfterValidator(_not_empty)] = _written(["POST"])
    """HTTP methods that clients may use."""
    speaks: Text = "auto"
    """The dialect of the upstream; `auto` detects it from the first bytes."""
    answers: Annotated[
        tuple[Text, ...],
        BeforeValidator(_as_list),
        AfterValidator(_not_empty),
        WithJsonSchema(_ONE_OR_MORE),
    ] = _written(["standard"])
    """Protocols that clients may have; the first is the default."""
    framing: Annotated[str, choice("sse", "ndjson")] = "sse"
    """The framing where the client's Accept leaves it open."""
    request: Annotated[str, only("passthrough", "mapped")] = "passthrough"
    """How the client's body becomes the upstream's."""
    timeouts: TimeoutsSection = _made_by(TimeoutsSection)
    heartbeat: Duration = _written("15s")
    """A sign of life after so much silence; may be `off`."""
    headers: Headers = Field(default_factory=dict, repr=False)
    """Headers of the request to the upstream."""
    forward_headers: tuple[Annotated[str, HEADER_NAME], ...] = ()
    """Headers of the client that go on to the upstream."""
    forward_query: tuple[Annotated[str, QUERY_NAME], ...] = ()
    """Query parameters of the client that go on to the upstream."""
    forward_response_headers: tuple[Annotated[str, RESPONSE_HEADER_NAME], ...] = ()
    """Headers of the upstream's response that the client gets."""
    on_disconnect: Annotated[str, only("cancel", "continue")] = "cancel"
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
    limits: LimitsSection = _made_by(LimitsSection)
    warnings: tuple[WarningSection, ...] = ()
    """Warnings that every stream begins with."""


class DefaultsSection(OptionsSection):
    """What holds for every endpoint that does not say otherwise."""


class EndpointSection(OptionsSection):
    """One path that clients may call, and the upstream behind it."""

    upstream: Annotated[str, UPSTREAM_REFERENCE] = Field(repr=False)
    """A name of `upstreams`, a URL, or `demo:<dialect>`."""
    path: Annotated[str | None, Leaf(read_upstream_path, _PATH)] = Field(None, validate_default=False)
    """Appended to the upstream's URL; `{names}` come from the endpoint's own path."""


class UpstreamSection(Section):
    """A backend that several endpoints may share."""

    url: Annotated[str, UPSTREAM_URL] = Field(repr=False)
    """Its base URL, or `demo:<dialect>`."""
    speaks: Text = "auto"
    """Its dialect; beats the one in `defaults`."""
    headers: Headers = Field(default_factory=dict, repr=False)
    """Headers of every request to it."""
    timeouts: TimeoutsSection = _made_by(TimeoutsSection)
    """Beat those in `defaults`; an endpoint's own beat both."""
    transport: Annotated[str, only("auto", "httpcore")] = "auto"
    """The HTTP client's transport."""


class ServerSection(Section):
    """The gateway's own paths."""

    health: PathOrOff = "/healthz"
    """Answers while the process is alive; may be `off`."""
    ready: PathOrOff = "/readyz"
    """Answers 503 while the gateway drains; may be `off`."""


class GatewayFile(Section):
    """The configuration file of the streamweir gateway."""

    listen: Annotated[Address, LISTEN] = _written("127.0.0.1:8080")
    """HOST:PORT; an IPv6 address in brackets."""
    defaults: DefaultsSection = _made_by(DefaultsSection)
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
    server: ServerSection = _made_by(ServerSection)
    debug: Flag = False
    """Add redacted details to errors and warnings."""


NOT_BUILT: Final[Mapping[type[Section], tuple[str, ...]]] = {
    GatewayFile: ("auth", "cors", "dialects", "rate_limit"),
    ServerSection: ("drain", "header_bytes", "header_time", "metrics", "trusted_proxies", "workers"),
    UpstreamSection: ("breaker", "max_streams", "retries", "tls"),
    DefaultsSection: ("rate_limit",),
    EndpointSection: ("rate_limit",),
}
"""Keys of the contract that have no field yet. To build one: give it a field, strike it out here."""

ELSEWHERE: Final[Mapping[type[Section], Mapping[str, str]]] = {
    DefaultsSection: {
        "upstream": "stands at each endpoint, not in defaults",
        "path": "stands at each endpoint, not in defaults",
    },
}
"""Keys that are right, in the wrong place."""
