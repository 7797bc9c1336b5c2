"""The options of a stream: how it is read, how its events are treated, and what else its client gets.

Source: the library contract, sections 1 and 4; the configuration, for their names and defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from streamweir.options.limits import Limits
from streamweir.stages import FullText
from streamweir.translation.reader import EndOfBody

__all__ = ["STREAM_DEFAULTS", "StreamOptions"]


class StreamOptions(TypedDict, total=False):
    """The options that `Translator` and the shells around it have in common.

    Attributes:
        full_text: the handling of text that repeats the whole answer: `dedupe` sends the part that is new,
            `append` sends all of it again, `replace` sends all of it as a replacement.
        stream_tool_arguments: send the pieces of a tool call's arguments as well (`tool_call_delta`), even if
            the client's protocol does not always do so.
        protocol_options: for each dialect by name, the options with which it is read or written.
        raw: add the upstream's own message to each event, as `metadata.source`.
        eof: the meaning of a body that ends properly without the end mark of its dialect: `truncated`, or
            `complete` for upstreams that never send an end mark.
        verbatim: if the client's protocol is the upstream's dialect, in the same framing, send the upstream's
            own frames; False: write each event anew.
        limits: how much the stream may take: a `Limits`, or a mapping with its names.
        warnings: sent right after `session_start`: messages, or mappings with `message`, `message_code`.
        debug: add details to errors and warnings, redacted; for trusted clients only.
        upstream: the name of the upstream or its URL: opaque values that pass through clients of other
            protocols are bound to it.
    """

    full_text: FullText
    stream_tool_arguments: bool
    protocol_options: Mapping[str, Mapping[str, Any]] | None
    raw: bool
    eof: EndOfBody
    verbatim: bool
    limits: Limits | Mapping[str, Any] | None
    warnings: Sequence[str | Mapping[str, Any]]
    debug: bool
    upstream: str


STREAM_DEFAULTS: Final[StreamOptions] = {
    "full_text": "dedupe",
    "stream_tool_arguments": False,
    "protocol_options": None,
    "raw": False,
    "eof": "truncated",
    "verbatim": True,
    "limits": None,
    "warnings": (),
    "debug": False,
    "upstream": "",
}
"""The default of each option."""
