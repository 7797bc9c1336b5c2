"""Whether a file is meant as a configuration: nothing of any other is repeated, for it may hold secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from streamweir.errors import did_you_mean
from streamweir_gateway.config.models.gateway import GatewayConfig
from streamweir_gateway.config.models.section import written_keys

__all__ = ["NO_CONFIGURATION", "is_configuration"]

NO_CONFIGURATION: Final = (
    "this is no configuration of the gateway: it has none of its keys, such as `endpoints:`; "
    "the smallest one is in docs/configuration.md"
)

_KEY: Final = re.compile(r"""^[ \t]{0,8}[{,]?[ \t]*["']?([A-Za-z_]{4,20})["']?[ \t]*:""", re.MULTILINE)
MAX_LOOKED_AT: Final = 64 << 10


def is_configuration(text: str) -> bool:
    """Whether a key of the top level stands anywhere in `text`, or one that is meant as such.

    An empty file is one: what is missing in it is reported in its own words.
    """
    head = text[:MAX_LOOKED_AT]
    if not any(line.strip("\ufeff \t\r\n").partition("#")[0] for line in head.splitlines()):
        return True
    known = written_keys(GatewayConfig)
    return any(key in known or did_you_mean(key, known) for key in dict.fromkeys(_keys(head)))


def _keys(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.lstrip().startswith("#"):
            yield from _KEY.findall(line)
            yield from re.findall(r"""[{,]\s*["']?([A-Za-z_]{4,20})["']?\s*:""", line[:4096])
