"""`request:` of an endpoint: the body unchanged, mapped, or built by a tree.

Source: the request contract, section 1.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from streamweir_gateway.config.diagnostics import InvalidValue, not_this
from streamweir_gateway.config.values.scalars import Scalar

__all__ = ["MAPPED", "PASSTHROUGH", "REQUEST_MODE", "RequestMode"]

_MAPPED: Final = "mapped"


class RequestMode(NamedTuple):
    """How a client's body becomes the upstream's body.

    Attributes:
        kind: one of the three ways. `mapped` may have a tree that is laid over the body.
        tree: the tree as written in the file; None without a tree.
    """

    kind: Literal["passthrough", "mapped", "template"]
    tree: Any = None


PASSTHROUGH: Final = RequestMode("passthrough")
MAPPED: Final = RequestMode("mapped")
_WORDS: Final = {"passthrough": PASSTHROUGH, _MAPPED: MAPPED}


def _read(value: Any) -> RequestMode:
    if isinstance(value, RequestMode):
        return value
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if not isinstance(value, dict | list) or not value:
        raise InvalidValue(
            "must be passthrough, mapped, {mapped: TREE} or the tree of a body", not_this(value)
        )
    if isinstance(value, dict) and value.keys() == {_MAPPED}:
        tree = value[_MAPPED]
        if not isinstance(tree, dict):
            raise InvalidValue("must be a mapping: what is laid over the body")
        return RequestMode(_MAPPED, tree)
    return RequestMode("template", value)


REQUEST_MODE: Final = Scalar(
    _read,
    {
        "anyOf": [
            {"enum": [*_WORDS]},
            {"type": "object", "minProperties": 1},
            {"type": "array", "minItems": 1},
        ]
    },
    stand_in=PASSTHROUGH,
)
