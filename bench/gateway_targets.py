"""The gateway in the settings that `run.py` measures, each a target of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["GATEWAYS", "ONLY", "Setting"]

KEYS: Final = 10_000


class Setting(NamedTuple):
    """A configuration of the gateway.

    Attributes:
        answers: the protocol of the client.
        top: lines of the file above its upstreams.
        endpoint: lines of its endpoint.
        key: the key that the load client sends; empty: none.
    """

    answers: str = "standard"
    top: str = ""
    endpoint: str = ""
    key: str = ""


def _key(number: int) -> str:
    return f"bench-key-{number:08d}-0123456789"


def _keys(number: int) -> str:
    lines = (f"    client-{index}: {_key(index)}" for index in range(number))
    return "\n".join(("auth:", "  keys:", *lines))


def _settings() -> Iterator[tuple[str, Setting]]:
    yield "streamweir", Setting()
    yield "streamweir-2-workers", Setting(top="server: {workers: 2}")
    yield "streamweir-1-key", Setting(top=_keys(1), key=_key(0))
    yield f"streamweir-{KEYS}-keys", Setting(top=_keys(KEYS), key=_key(KEYS // 2))
    yield "streamweir-mapped", Setting(endpoint="    request: mapped")
    yield "streamweir-legacy", Setting("legacy")


GATEWAYS: Final = dict(_settings())
"""By the name of the target."""

ONLY: Final = {
    "streamweir-2-workers": ("short",),
    "streamweir-1-key": ("short",),
    f"streamweir-{KEYS}-keys": ("short",),
    "streamweir-mapped": ("short",),
    "streamweir-legacy": ("flood", "short"),
}
"""The scenarios of targets that are not measured in all of them."""
