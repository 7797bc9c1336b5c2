"""The console: its address, its token, and how much it keeps.

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
    """The most bytes that are kept of one stream: its first and its last part."""
    total_bytes: Size = written("64MiB")
    """The most bytes that are kept of all ended streams together. The oldest streams are dropped first."""


class ConsoleConfig(Section):
    """The console: a page that shows what happened in each stream, at a separate address."""

    listen: Annotated[Address, LISTEN] = written("127.0.0.1:8081")
    """HOST:PORT, other than the public address."""
    token: Annotated[str | None, CONSOLE_TOKEN] = absent(hidden=True)
    """The token, of at least 20 characters; absent: a new token at each start. Required at an address other
    than loopback.
    """
    hosts: Annotated[tuple[Annotated[str, HOST], ...], LISTED] = ()
    """More names that `Host` may have, for a proxy in front. Addresses and `localhost` need not be listed."""
    capture: Annotated[CaptureContent, choice("metadata", "content")] = "metadata"
    """`content` keeps the bytes of streams; `metadata` keeps only their numbers and times."""
    keep: Keep = made_by(Keep)
