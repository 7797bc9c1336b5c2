"""Finds out whether a file is a configuration.

Other files are not quoted in messages: they may contain secrets.
"""

from __future__ import annotations

import re
from typing import Final

from streamweir.errors import did_you_mean
from streamweir_gateway.config.models.gateway import GatewayConfig
from streamweir_gateway.config.models.section import written_keys

__all__ = ["NO_CONFIGURATION", "is_configuration"]

NO_CONFIGURATION: Final = (
    "this is no configuration of the gateway: it has none of its keys, such as `endpoints:`; "
    "the smallest one is in docs/configuration.md"
)

_MAIN: Final = ("endpoints", "upstreams", "dialects")
"""Keys that few files of other programs have, unlike `server`, `debug` and `store`."""

_KEY: Final = re.compile(r"""^([ \t]{0,8})[{,]?[ \t]*["']?([A-Za-z_]{4,20})["']?[ \t]*:""")
_FLOW_KEY: Final = re.compile(r"""[{,]\s*["']?([A-Za-z_]{4,20})["']?\s*:""")
MAX_LOOKED_AT: Final = 64 << 10


def is_configuration(text: str) -> bool:
    """Return whether `text` has a main key, a misspelt main key, or mostly known keys.

    An empty file counts as a configuration, so that its missing keys are reported.
    """
    lines = [line for line in text[:MAX_LOOKED_AT].splitlines() if not line.lstrip().startswith("#")]
    if not any(line.strip("\ufeff \t\r\n") for line in lines):
        return True
    found = [_KEY.match(line) for line in lines]
    indented = [(len(match[1]), match[2]) for match in found if match is not None]
    flow = [key for line in lines for key in _FLOW_KEY.findall(line[:4096])]
    if any(key in _MAIN or did_you_mean(key, _MAIN) for key in {*(key for _, key in indented), *flow}):
        return True
    outermost = min((depth for depth, _ in indented), default=0)
    known = written_keys(GatewayConfig)
    top = [key in known for depth, key in indented if depth == outermost]
    return 2 * sum(top) > len(top)
