"""The kit for authors of dialects: the dialect, the set of all dialects, and parts that both sides share.

Authors of other packages may import these helpers, as `from streamweir.codec import upstream_error`. They
make events for failures, which are classified and kept safe, and events for data that no other event holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamweir.codec.coerce import custom, tool_error, upstream_error, upstream_warning

__all__ = ["custom", "tool_error", "upstream_error", "upstream_warning"]


def __getattr__(name: str) -> Any:
    """Import the helper `name` when it is first used: rooms below import this package before it is ready."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from streamweir.codec import coerce  # noqa: PLC0415 (see above)

    return getattr(coerce, name)
