"""The file under `upstreams`: a backend, how often and how long it is asked, and over which connection."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from streamweir_gateway.config.http import RETRY_CAUSE, UPSTREAM_URL
from streamweir_gateway.config.scalars import FLAG_ON, TEXT, choice, or_off, whole_number
from streamweir_gateway.config.section_or_keyword import SectionOrKeyword
from streamweir_gateway.config.sections import (
    NOT_EMPTY,
    Duration,
    Headers,
    Section,
    Text,
    TimeoutsSection,
    absent,
    made_by,
    written,
)

__all__ = ["BreakerSection", "RetriesSection", "TlsSection", "UpstreamSection"]

AtLeastOne: TypeAlias = Annotated[int, whole_number(1)]
FilePath: TypeAlias = Annotated[str | None, TEXT]


class RetriesSection(Section):
    """When a request that has not given an event yet is sent again."""

    attempts: AtLeastOne = 1
    """How often it is sent in all; the first one counts."""
    backoff: Duration = written("200ms")
    """Before the second attempt."""
    on: Annotated[tuple[Annotated[int | Literal["connect"], RETRY_CAUSE], ...], NOT_EMPTY] = written(
        ["connect", 429, 503]
    )
    """`connect`, where no connection came about, and HTTP statuses."""


class BreakerSection(Section):
    """When an upstream that fails again and again is not asked for a while."""

    failures: AtLeastOne = 5
    """So many in a row."""
    open_for: Duration = written("30s")
    """Until one request is let through as a trial."""


class TlsSection(Section):
    """How the upstream's certificate is checked, and what the gateway shows of its own."""

    verify: Annotated[bool, FLAG_ON] = True
    """Whether the upstream's certificate is checked."""
    ca: FilePath = absent()
    """A file of certificates to trust in place of the system's."""
    cert: FilePath = absent()
    """A file with the gateway's own certificate, and with its key unless `key` names another file."""
    key: FilePath = absent()
    """A file with the key of `cert`."""


class UpstreamSection(Section):
    """A backend that several endpoints may share."""

    url: Annotated[str, UPSTREAM_URL] = Field(repr=False)
    """Its base URL, or `demo:<dialect>`."""
    speaks: Text = "auto"
    """Its dialect; beats the one in `defaults`."""
    headers: Headers = Field(default_factory=dict, repr=False)
    """Headers of every request to it."""
    timeouts: TimeoutsSection = made_by(TimeoutsSection)
    """Beat those in `defaults`; an endpoint's own beat both."""
    retries: RetriesSection = made_by(RetriesSection)
    """When a request is sent again; only before the first event."""
    max_streams: Annotated[int | None, or_off(whole_number(1))] = 1000
    """At the same time; `off` for any number."""
    breaker: Annotated[BreakerSection | None, SectionOrKeyword(BreakerSection, {"off": None})] = made_by(
        BreakerSection
    )
    """When it is not asked for a while; `off`: it is always asked."""
    tls: TlsSection = made_by(TlsSection)
    """Of an https URL."""
    transport: Annotated[Literal["auto", "httpcore"], choice("auto", "httpcore")] = "auto"
    """The HTTP client's transport: `httpcore` for HTTP/2 and proxies."""
