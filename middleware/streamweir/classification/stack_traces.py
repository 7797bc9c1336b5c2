"""Recognises stack traces by the forms of many languages."""

from __future__ import annotations

import re
from typing import Final

from streamweir.lazy_pattern import LazyPattern

__all__ = ["SHORTEST_TRACE", "is_exception_text", "is_stack_trace"]

_FRAME_START: Final = r"(?:\A|\n|\\n)(?:[ \t]|\\t){0,40}"
SHORTEST_TRACE: Final = 12
"""The least length, in characters, of a text that may be a stack trace."""
_LOOKED_AT: Final = 32 << 10
_HINTS: Final = (
    *(
        "Traceback",
        ", line ",
        "at ",
        "goroutine ",
        "panic",
        ".go:",
        ".rb:",
        "#0",
        "#1",
        "Stack trace",
        "stack ",
    ),
    *("Caused by", "Exception in ", "End of ", "@http", "@file", "@resource", ".ex:", ".exs:", " line "),
    *(".erb:", ".rake:", " more", "omitted", "PHP "),
)
"""Every stack trace contains one of these texts. Texts without them are not searched."""

_JS_PLACE: Final = (
    r"(?:file:|node:|https?:|webpack|/|\.{1,2}/|[A-Za-z]:\\|<anonymous>|[\w.-]{1,100}\.[cm]?[jt]sx?:)"
)
_DOTNET_NAME: Final = r"[\w<>`+\[\],]{1,100}"

_TRACES: Final[tuple[LazyPattern[str], ...]] = tuple(
    LazyPattern(pattern, re.ASCII)
    for pattern in (
        # Python
        r"""Traceback \(most recent call|\bTraceback:|\bFile \\?["'][^"'\n]{1,400}["'], line \d""",
        # Java, Kotlin, Scala
        rf"{_FRAME_START}at [\w.$<>/@-]{{1,300}}\([^()\n]{{0,200}}(?::\d{{1,9}}|Native Method|Unknown Source)"
        rf"\)|{_FRAME_START}Caused by: |\bException in thread \\?\""
        r"|\.{3} \d{1,6} (?:more|common frames omitted)",
        # JavaScript
        rf"{_FRAME_START}at (?:async )?(?:new )?(?:[^\n()]{{1,200}} )?\(?{_JS_PLACE}"
        r"[^\n]{0,300}?:?\d{1,9}\b"
        r"|[\w$./<>-]{0,100}@(?:file|https?|resource)://[^\s]{1,300}?:\d{1,9}:\d{1,9}",
        # Go
        r"(?:\b|\\n)goroutine \d{1,9} \[|(?:\A|\n|\\n)panic: |\.go:\d{1,9} \+0x[0-9a-f]",
        # .NET
        rf"{_FRAME_START}at {_DOTNET_NAME}(?:\.{_DOTNET_NAME}){{1,12}}\([^()\n]{{0,200}}\)"
        r"|--- End of (?:inner exception )?stack trace",
        # Ruby
        r"\.(?:rb|erb|rake):\d{1,9}:in [`']",
        # PHP
        r"\bStack trace:|(?:\A|\n|\\n)#\d{1,4} [^\n]{1,300}?\(\d{1,9}\)|#\d{1,4} \{main\}"
        r"|\bPHP (?:Fatal|Parse) error:",
        # Rust
        r"\bthread '[^'\n]{0,200}' panicked at\b|\bstack backtrace:|\bpanicked at [^\n]{1,300}\.rs:\d",
        # Lua, Elixir, Perl
        r"\bstack traceback:|\(\w{1,64} [\d.]{1,16}\) [\w/.-]{1,200}\.exs?:\d|\.p[lm] line \d{1,9}\.",
    )
)


_KINDS: Final = ("Error", "Exception", "Interrupt", "Panic", "Fault")
_EXCEPTION: Final = LazyPattern(rf"\b(?:[A-Za-z_]\w{{0,60}})?(?:{'|'.join(_KINDS)})\b", re.ASCII)


def is_exception_text(text: str) -> bool:
    """Return whether `text` names a program's exception (`KeyError: 'x'`), or contains a stack trace."""
    if text.isidentifier() and text.isascii():  # one word, as most ids
        return text.endswith(_KINDS) and _EXCEPTION.search(text) is not None
    for kind in _KINDS:  # most texts have none, and the pattern takes ten times as long to find that out
        if kind in text and _EXCEPTION.search(text[:_LOOKED_AT]) is not None:
            return True
    return is_stack_trace(text)


def is_stack_trace(text: str) -> bool:
    """Return whether `text` contains a stack trace; only the ends of a long text are searched."""
    if len(text) < SHORTEST_TRACE:
        return False
    if len(text) > 2 * _LOOKED_AT:
        text = f"{text[:_LOOKED_AT]}\n{text[-_LOOKED_AT:]}"
    return _has_hint(text) and any(pattern.search(text) for pattern in _TRACES)


def _has_hint(text: str) -> bool:
    """Return whether a text contains one of `_HINTS`, and is not just a word or an id."""
    if f"_{text.replace('-', '')}".isidentifier():
        return False
    for hint in _HINTS:  # noqa: SIM110 - a generator takes three times as long
        if hint in text:
            return True
    return False
