"""The kit for dialects: one dialect, the set of all, and the parts that decoders and encoders share.

For dialects of one's own these are public, as `from streamweir.codec import upstream_error`: events for
failures, classified and kept safe, and for what no other event can say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamweir.codec.coerce import custom, tool_error, upstream_error, upstream_warning

__all__ = ["custom", "tool_error", "upstream_error", "upstream_warning"]


def __getattr__(name: str) -> Any:
    """Load the helper that is asked for: the rooms below import this package before it is ready."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from streamweir.codec import coerce  # noqa: PLC0415 (see above)

    return getattr(coerce, name)
