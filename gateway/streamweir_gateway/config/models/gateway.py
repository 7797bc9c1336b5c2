"""The model of the whole file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from streamweir.codec.dialects import Dialects
from streamweir.codec.registry import process_dialects
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models.access import OPEN, Auth, Cors
from streamweir_gateway.config.models.console import ConsoleConfig
from streamweir_gateway.config.models.endpoint import Defaults, EndpointConfig
from streamweir_gateway.config.models.field_types import READ_ONLY, Flag, Rate
from streamweir_gateway.config.models.resume import Store, StoreConfig
from streamweir_gateway.config.models.section import (
    DERIVED,
    Section,
    absent,
    derived,
    empty,
    made_by,
    written,
)
from streamweir_gateway.config.models.server import ServerConfig
from streamweir_gateway.config.models.upstream import LEFT_SECONDS, UpstreamConfig
from streamweir_gateway.config.values.addresses import LISTEN, Address
from streamweir_gateway.config.values.path_templates import ENDPOINT_PATH
from streamweir_gateway.config.values.scalars import NAME
from streamweir_gateway.config.values.section_or_keyword import SectionOrKeyword
from streamweir_gateway.config.values.written_as import WrittenAs, values_of

__all__ = ["GatewayConfig"]


def _nothing_if_unresolved(value: Any) -> Any:
    return {} if isinstance(value, Unresolved) else value


class GatewayConfig(Section):
    """The configuration file of the streamweir gateway."""

    listen: Annotated[Address, LISTEN] = written("127.0.0.1:8080")
    """The address to listen on: HOST:PORT, with an IPv6 address in brackets."""
    defaults: Defaults = made_by(Defaults)
    upstreams: Annotated[Mapping[Annotated[str, NAME], UpstreamConfig], READ_ONLY] = empty()
    """The backends by name."""
    endpoints: Annotated[
        tuple[EndpointConfig, ...],
        WrittenAs(Mapping[Annotated[str, ENDPOINT_PATH], EndpointConfig], values_of),
        BeforeValidator(_nothing_if_unresolved),
    ]
    """The endpoints by path, such as `/support/{agent_id}/chat`."""
    auth: Annotated[
        Auth | None, SectionOrKeyword(Auth, {"open": OPEN}, "{keys: {NAME: KEY}}", quotes=False)
    ] = absent()
    """The callers; `open`: every client that can reach the address may call."""
    rate_limit: Rate = absent()
    """The rate of requests per key, or per client address without keys, such as `600/minute`."""
    cors: Annotated[Cors | None, SectionOrKeyword(Cors)] = absent()
    """The pages of other origins that may read the answers."""
    server: ServerConfig = made_by(ServerConfig)
    console: Annotated[ConsoleConfig | None, SectionOrKeyword(ConsoleConfig, {"off": None})] = absent()
    """The page that shows what happened in each stream; absent or `off`: there is no such page."""
    store: Store = made_by(StoreConfig)
    """The store that keeps the runs of endpoints with `resume`, and shares rate limits."""
    debug: Flag = False
    """Whether redacted details are added to errors and warnings."""
    dialects: Mapping[str, Any] = empty(hidden=True)
    """The home-made dialects by name: written here, `{file: PATH}` or `{python: "module:Class"}`."""
    fingerprint: Annotated[SkipJsonSchema[str], DERIVED] = derived("", hidden=True)
    """The hash `sha256:...` of the file and of its dialects' files."""
    remarks: Annotated[SkipJsonSchema[tuple[str, ...]], DERIVED] = derived((), hidden=True)
    """One line for each value that is probably a mistake, with its place in the file."""
    known_dialects: Annotated[SkipJsonSchema[InstanceOf[Dialects]], DERIVED] = Field(
        default_factory=process_dialects, validate_default=False, repr=False
    )
    """The dialects that this file can use."""

    @property
    def goodbye(self) -> float:
        """The seconds that any client may take for the rest of its response after a stop ends its run."""
        return max(
            (upstream.timeouts.left for endpoint in self.endpoints for upstream in endpoint.upstreams),
            default=LEFT_SECONDS,
        )
