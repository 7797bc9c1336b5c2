"""An endpoint: one path of the gateway, and all settings of the proxy for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from streamweir.errors import MACHINE_CODE
from streamweir.options.heartbeats import AUTO
from streamweir.options.limits import Limits as LibraryLimits
from streamweir.options.sizes import format_size
from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.models.access import Caller
from streamweir_gateway.config.models.field_types import (
    NOT_EMPTY,
    ONE_OR_MORE,
    READ_ONLY,
    AtLeastOne,
    Duration,
    Flag,
    Rate,
    Size,
    Text,
    one_or_more,
)
from streamweir_gateway.config.models.resume import Resume
from streamweir_gateway.config.models.section import (
    DERIVED,
    Section,
    absent,
    derived,
    empty,
    made_by,
    written,
)
from streamweir_gateway.config.models.upstream import UpstreamConfig, UpstreamOptions
from streamweir_gateway.config.values.auth import CALLER_NAMES
from streamweir_gateway.config.values.http import (
    FORWARDED_HEADER,
    METHOD,
    ORDINARY_METHODS,
    QUERY_NAME,
    RETURNED_HEADER,
)
from streamweir_gateway.config.values.path_templates import UPSTREAM_PATH, is_open
from streamweir_gateway.config.values.request_mode import REQUEST_MODE, RequestMode
from streamweir_gateway.config.values.scalars import COUNT, TEXT, Scalar, choice, read_text, text_schema
from streamweir_gateway.config.values.section_or_keyword import SectionOrKeyword
from streamweir_gateway.config.values.units import HEARTBEAT
from streamweir_gateway.config.values.urls import UPSTREAM_REFERENCE
from streamweir_gateway.config.values.written_as import LISTED, Listed, ShortFor, WrittenAs

__all__ = [
    "Defaults",
    "EndpointConfig",
    "EndpointOptions",
    "InjectedWarning",
    "Limits",
    "ModelConfig",
    "OnDisconnect",
    "Threads",
    "Turns",
]

_LIBRARY: Final = LibraryLimits()


def _read_code(value: Any) -> str:
    code = read_text(value)
    if not MACHINE_CODE.fullmatch(code):
        raise InvalidValue("must be 3 to 64 capital letters, digits and _, a letter first")
    return code


def _read_option(value: Any) -> str:
    """Read the value of a dialect's option. `version: 1.0` and `tools: true` are read as words."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else read_text(value)


_CODE: Final = text_schema(f"^{MACHINE_CODE.pattern}$")

Option: TypeAlias = Annotated[str, Scalar(_read_option, {"type": ["string", "number", "boolean"]})]
Options: TypeAlias = Annotated[Mapping[str, Option], READ_ONLY]


class Limits(Section):
    """The largest sizes that are accepted of a stream or a request."""

    event_bytes: Size = written(format_size(_LIBRARY.event_bytes))
    """The most bytes of one event from the upstream."""
    stream_bytes: Size = written(format_size(_LIBRARY.stream_bytes))
    """The most decoded bytes of a stream from the upstream."""
    request_bytes: Size = written("10MiB")
    """The most bytes of the body of a client's request."""
    malformed_events: Annotated[int, COUNT] = _LIBRARY.malformed_events
    """The most events of one stream that may be unreadable."""


class InjectedWarning(Section):
    """A warning with which every stream of the endpoint begins."""

    message: Text
    """The text for the user."""
    message_code: Annotated[str | None, Scalar(_read_code, _CODE)] = absent()
    """A code for programs, such as `DEPRECATED`."""


class Threads(Section):
    """How long and how many conversations of clients are kept; with a Redis `store`, for all replicas."""

    keep: Duration = written("24h")
    """The time for which a conversation is kept after its last request."""
    max: AtLeastOne = 10_000
    """The most conversations in the memory of one worker. The oldest are forgotten first."""


class Turns(Section):
    """How the turns of an upstream are kept in `store`, so that they can be sent to it again unchanged."""

    keep: Duration = written("24h")
    """The time for which a turn is kept after its last use."""
    max_bytes: Size = written("1MiB")
    """The most bytes of one turn as JSON. A larger turn is not kept."""


class OnDisconnect(Section):
    """How long the upstream's run goes on after the client has left."""

    continue_for: Duration
    """The time after which the run is cancelled."""


class ProbeConfig(Section):
    """The request of `streamweir check --probe`."""

    body: Any = absent()
    """The body as JSON; by default `{"message": "Hello"}`."""
    path: Annotated[Mapping[str, Text], READ_ONLY] = empty()
    """The values of the `{names}` in the endpoint's path."""


class EndpointOptions(UpstreamOptions):
    """The keys of an endpoint and of `defaults`."""

    methods: Annotated[tuple[Annotated[str, METHOD], ...], LISTED, NOT_EMPTY] = written(["POST"])
    """The HTTP methods that clients may use."""
    answers: Annotated[
        tuple[Text, ...],
        one_or_more("must be a protocol, or a list of protocols"),
        NOT_EMPTY,
        ONE_OR_MORE,
    ] = written(["standard"])
    """The protocols that clients may ask for. The first is the default."""
    relay: Annotated[str, choice("streams", "all")] = "streams"
    """`all`: responses other than agent streams are sent byte for byte, of any method, type and status."""
    auth: Annotated[tuple[Text, ...] | None, CALLER_NAMES, ONE_OR_MORE] = absent()
    """The names of the `auth.keys` that may call; `open`: no key is needed. Absent: each key whose own
    `endpoints` allow it.
    """
    framing: Annotated[str, choice("sse", "ndjson")] = "sse"
    """The framing if the client's Accept leaves it open."""
    request: Annotated[RequestMode, REQUEST_MODE] = written("passthrough")
    """How the client's body becomes the upstream's: `passthrough`, `mapped`, `{mapped: TREE}` or a tree."""
    history: Annotated[str, choice("inline", "last", "kept")] = "inline"
    """How earlier turns reach upstreams that do not know the conversation: `inline` in the text, or only the
    `last` turn is sent; `kept`: the stored turns of the client's thread are sent before its new turns, for
    upstreams without threads.
    """
    threads: Annotated[Threads | None, SectionOrKeyword(Threads, {"off": None})] = made_by(Threads)
    """Which conversation of the upstream belongs to a client's conversation; `off`: none are kept."""
    turns: Annotated[
        Turns | None, SectionOrKeyword(Turns, {"off": None, "on": Turns()}, "{keep: DURATION}")
    ] = made_by(Turns)
    """Whether the turns of upstreams are kept and put back into later requests, with `request: mapped`."""
    heartbeat: Annotated[float | None, HEARTBEAT] = written(AUTO)
    """The silence after which a sign of life is sent; may be `off`. `auto` is 15s, but clients of old
    dialects get none from the gateway.
    """
    forward_headers: Annotated[tuple[Annotated[str, FORWARDED_HEADER], ...], LISTED] = ()
    """Headers of the client that are forwarded to the upstream. `X-Tenant-*` selects every name that begins
    so.
    """
    forward_query: Annotated[tuple[Annotated[str, QUERY_NAME], ...], LISTED] = ()
    """Query parameters of the client that are forwarded to the upstream."""
    forward_response_headers: Annotated[tuple[Annotated[str, RETURNED_HEADER], ...], LISTED] = ()
    """Headers of the upstream's response that are forwarded to the client. `X-Tenant-*` selects every name
    that begins so.
    """
    on_disconnect: Annotated[
        float | None,
        WrittenAs(
            Annotated[
                OnDisconnect,
                SectionOrKeyword(OnDisconnect, {"cancel": 0.0, "continue": None}, "{continue_for: DURATION}"),
            ],
            lambda value: value.continue_for if isinstance(value, OnDisconnect) else value,
        ),
    ] = written("cancel")
    """How long the upstream's run goes on after the client has left."""
    resume: Annotated[
        Resume | None, SectionOrKeyword(Resume, {"off": None, "on": Resume()}, "{ttl: DURATION}")
    ] = absent()
    """Whether runs are kept for clients that come back, and how."""
    full_text: Annotated[str, choice("dedupe", "append", "replace")] = "dedupe"
    """How a repetition of the whole answer is treated."""
    eof: Annotated[str, choice("truncated", "complete")] = "truncated"
    """The meaning of a body that ends properly without the end mark of its dialect."""
    verbatim: Flag = True
    """Whether a client of the upstream's own dialect gets its frames byte for byte, not written anew."""
    failures: Annotated[str, choice("as_they_came", "told")] = "as_they_came"
    """How a failure reaches a client of the upstream's own dialect: by the upstream's status and a broken
    connection, or (`told`) by an error event in a body that ends properly.
    """
    stream_tool_arguments: Flag = False
    """Whether a tool's arguments are sent piece by piece too."""
    protocol_options: Annotated[Mapping[str, Options], READ_ONLY] = empty()
    """For each dialect, the options for reading or writing it."""
    raw: Flag = False
    """Whether `metadata.source`, the upstream's own event, is added."""
    limits: Limits = made_by(Limits)
    warnings: Annotated[tuple[InjectedWarning, ...], Listed(of_mappings=True)] = ()
    """The warnings with which every stream begins."""
    rate_limit: Rate = absent()
    """The rate of requests to this endpoint, such as `600/minute`, in place of the gateway's."""


class Defaults(EndpointOptions):
    """The values for all endpoints that do not set them."""


Upstreams: TypeAlias = Annotated[
    tuple[Annotated[str, UPSTREAM_REFERENCE], ...],
    one_or_more("must be a name of `upstreams`, a URL, or a list of either"),
    NOT_EMPTY,
    ONE_OR_MORE,
]


class ModelConfig(Section):
    """The upstream of one model. Short form: a bare upstream."""

    alias: Annotated[str | None, TEXT] = absent()
    """The name of another model of this endpoint that serves this model too. No other key is allowed."""
    upstream: Upstreams = Field((), repr=False, validate_default=False)
    """A name of `upstreams`, a URL or `demo:<dialect>`. Of a list, the first upstream that gives an event is
    used.
    """
    path: Annotated[str | None, UPSTREAM_PATH] = absent()
    """The path that is appended to the upstream's URL, in place of the endpoint's."""
    speaks: Annotated[str | None, TEXT] = absent()
    """The dialect of the upstream, in place of the endpoint's."""
    request: Annotated[RequestMode | None, REQUEST_MODE] = absent()
    """How the client's body becomes the upstream's body, in place of the endpoint's setting."""


class EndpointConfig(EndpointOptions):
    """One path that clients may call, and the upstreams behind it.

    `speaks`, `timeouts` and `headers` are merged with those of each upstream; `upstreams` has the merged
    values.
    """

    template: Annotated[SkipJsonSchema[str], DERIVED] = derived("")
    """The path that clients call, such as `/support/{agent_id}/chat`."""
    upstream: Upstreams = Field(repr=False)
    """A name of `upstreams`, a URL or `demo:<dialect>`. Of a list, the first upstream that gives an event is
    used.
    """
    upstreams: Annotated[SkipJsonSchema[tuple[UpstreamConfig, ...]], DERIVED] = derived(())
    """The upstreams that `upstream` names, in the same order, with the options of this endpoint."""
    path: Annotated[str | None, UPSTREAM_PATH] = absent()
    """The path that is appended to the upstream's URL. `{names}` come from the endpoint's own path, `{rest}`
    from its `/*`.
    """

    probe: ProbeConfig | None = absent()
    """The request that `streamweir check --probe` sends to it."""
    chooses: Annotated[SkipJsonSchema[bool], DERIVED] = derived(False)
    """Whether the upstreams are those of the endpoint's models."""
    models: Annotated[Mapping[Text, Annotated[ModelConfig, ShortFor(ONE_OR_MORE.json_schema)]], READ_ONLY] = (
        empty()
    )
    """The upstreams of models, in place of `upstream`: the client's `model` chooses by name."""

    def resolved_model(self, name: str) -> str:
        """Return the name of the model that serves a model: the target of an alias, or else its own name."""
        return self.models[name].alias or name

    @cached_property
    def first_upstreams(self) -> Mapping[str, int]:
        """Return the index in `upstreams` of each model's first upstream."""
        ends = accumulate((len(model.upstream) for model in self.models.values()), initial=0)
        return dict(zip(self.models, ends, strict=False))

    def for_model(self, name: str) -> EndpointConfig:
        """Return this endpoint with the upstreams, the path and the request mode of one of its models."""
        name = self.resolved_model(name)
        model = self.models[name]
        first = self.first_upstreams[name]
        own: dict[str, Any] = {
            "models": {},
            "upstream": model.upstream,
            "upstreams": self.upstreams[first : first + len(model.upstream)],
            "path": self.path if model.path is None else model.path,
            "request": self.request if model.request is None else model.request,
        }
        return self.model_copy(update=own)

    @property
    def is_of_model(self) -> bool:
        """Whether this object serves one model of an endpoint with `models`; see `for_model`."""
        return self.chooses and not self.models

    @property
    def maps_requests(self) -> bool:
        """Whether requests to an upstream of this endpoint, or of one of its models, are mapped."""
        modes = [self.request, *(model.request for model in self.models.values())]
        return any(mode is not None and mode.kind == "mapped" for mode in modes)

    @property
    def needs_no_key(self) -> bool:
        """Whether clients may call this endpoint without a key (`auth: open`)."""
        return self.auth == ()

    def lets_in(self, name: str, caller: Caller) -> bool:
        """Return whether a key may call this endpoint: its `endpoints` and the endpoint's `auth` allow it."""
        if self.needs_no_key:
            return True
        is_named = self.auth is None or name in self.auth
        return is_named and (not caller.endpoints or self.template in caller.endpoints)

    @property
    def relays_all(self) -> bool:
        """Whether a whole service is behind this path."""
        return self.relay == "all"

    @property
    def takes_any_method(self) -> bool:
        """Whether clients may use every method that has its own response."""
        return self.relays_all and "methods" not in self.model_fields_set

    @property
    def listed_methods(self) -> tuple[str, ...]:
        """The methods that clients may use; the usual methods if any method is allowed."""
        return ORDINARY_METHODS if self.takes_any_method else self.methods

    @property
    def appends_rest(self) -> bool:
        """Whether the value of `/*` and the query are appended to the upstream's URL."""
        return self.path is None and is_open(self.template)
