"""The console: its address, who gets in, and how much it keeps.

Source: the console contract, section 1.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from streamweir_gateway.config.models.field_types import AtLeastOne, Size
from streamweir_gateway.config.models.section import Section, absent, made_by, written
from streamweir_gateway.config.values.addresses import HOST, LISTEN, Address
from streamweir_gateway.config.values.console_token import CONSOLE_TOKEN
from streamweir_gateway.config.values.scalars import choice
from streamweir_gateway.config.values.written_as import LISTED

__all__ = ["CaptureContent", "ConsoleConfig", "Keep"]

CaptureContent: TypeAlias = Literal["metadata", "content"]


class Keep(Section):
    """How much the console keeps of streams."""

    streams: AtLeastOne = 2000
    """The most ended streams that are listed."""
    stream_bytes: Size = written("1MiB")
    """The most bytes kept of one stream: its first and its last part."""
    total_bytes: Size = written("64MiB")
    """The most bytes kept of all ended streams together; the oldest give way."""


class ConsoleConfig(Section):
    """The console: a page that shows what happened in each stream, on an address of its own."""

    listen: Annotated[Address, LISTEN] = written("127.0.0.1:8081")
    """HOST:PORT; never the public address."""
    token: Annotated[str | None, CONSOLE_TOKEN] = absent(hidden=True)
    """At least 20 characters; absent: a new one at each start. Needed on an address other than loopback."""
    hosts: Annotated[tuple[Annotated[str, HOST], ...], LISTED] = ()
    """More names that `Host` may hold, for a proxy in front; addresses and `localhost` need not be listed."""
    capture: Annotated[CaptureContent, choice("metadata", "content")] = "metadata"
    """`content` keeps the bytes of streams; `metadata` their numbers and times."""
    keep: Keep = made_by(Keep)
