"""Finds secrets that follow their names: `password=x`, `"apiKey": "x"`, `(b'x-api-key', b'x')`,
`<token>x`.

A name is followed by a joint (`=`, `": "` ...) of one of the languages and formats that error texts quote,
and by the value. Both are searched only directly after the name, so the time is proportional to the length of
the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from streamweir.lazy_pattern import LazyPattern
from streamweir.redaction.rule import REDACTED
from streamweir.redaction.secret_names import NAME, is_secret_name

__all__ = ["hide_named_secrets", "is_no_value"]

_FLAGS: Final = re.ASCII | re.IGNORECASE

# --- joints between a name and its value ---

_SPACE: Final = r"[ ]{0,8}"
_QUOTE: Final = r"""\\{0,8}["'`]"""
_CLOSING: Final = r"""\\{0,8}["'`]?[\])]{0,2}"""
_STRING_AHEAD: Final = rf"(?=[A-Za-z@$]{{0,3}}{_QUOTE})"
_OPERATOR: Final = r"(?:=>|->|[=!]={1,2}|:{1,3}=|[?+.|]=|[:=：＝])"

_LINE_BREAK: Final = r"[ ]{0,8}(?:\\[rn]|\n){1,3}"
_BLOCK: Final = rf"(?P<block>[|>][-+0-9]{{0,2}}{_LINE_BREAK}[ ]{{0,40}})"
_STANDS_ALONE: Final = r"""[^\s\\]{1,512}(?:\s{0,8}\Z|[ ]?\n|\\n|["'])"""
_NEXT_LINE: Final = (
    rf"{_LINE_BREAK}[ ]{{1,40}}(?:- )?" + r"""(?=["'`]|string\(|\S{0,64}\d|""" + rf"{_STANDS_ALONE})"
)
_TAGGED: Final = rf"(?:!{{1,2}}\w{{1,16}} )?(?:{_BLOCK}|{_NEXT_LINE})?(?:string\(\d{{1,6}}\) )?"
_TYPE: Final = r"(?:\[\d{0,6}\])?(?:[ ]{0,2}:?[ ]{0,2}[A-Za-z][\w<>\[\].?]{0,40})?[ ]{0,2}"
_ATTRIBUTE: Final = r"""[ \n]{1,8}(?!value=)[\w:.-]{1,64}=["'][^"'<>\n]{0,200}["']"""
_VALUE_OF_A_PAIR: Final = rf"(?:{_QUOTE})?(?:value|val|content)(?:{_QUOTE})?{_SPACE}[:=]{_SPACE}"

_ASSIGNED: Final = LazyPattern(
    # const char secret[25] = "x", var token string = "x", token: str = 'x'
    rf"{_TYPE}={_SPACE}{_STRING_AHEAD}"
    rf"|{_CLOSING}{_SPACE}{_OPERATOR}{_SPACE}{_TAGGED}"
    # {"name": "API_KEY", "value": "x"}, name="password" value="x", name: password LF value: x
    rf"|{_CLOSING}(?:{_ATTRIBUTE}){{0,3}}(?:,[ \n]{{0,40}}|[ \n]{{1,40}}){_VALUE_OF_A_PAIR}"
    # ("password", "x"), (b'x-api-key', b'x'), ['Authorization', 'x']
    rf"|{_QUOTE}\)?,[ \n]{{0,8}}{_STRING_AHEAD}"
    # setPassword("x")
    rf"|{_SPACE}\({_SPACE}{_STRING_AHEAD}",
    re.ASCII,
)
_OF_A_TUPLE: Final = LazyPattern(rf"(?P<block>(?!))?,[ \n]{{0,8}}(?:<<)?{_STRING_AHEAD}")
"""Matches the joint of Erlang's `{password, "x"}`, where the name is an atom."""

_ELEMENT: Final = LazyPattern(
    rf"""["']?(?:{_ATTRIBUTE}){{0,8}}\s{{0,8}}>\s{{0,40}}(?:<!\[CDATA\[)?""", re.ASCII
)
_BEFORE_ELEMENT: Final = frozenset("<:\"'")
_COMMAND: Final = LazyPattern(
    r"(?:\b(?:setenv|setx|ENV|ARG|set(?: -[a-zA-Z]{1,8}){1,3})|^\s{0,8}set) {1,8}\Z"
)
_COMMAND_CHARACTERS: Final = 32

# --- values ---

# "password: required" is a sentence, and nobody's password
_NO_VALUES: Final = """
    the is isn't was wasn't are be been has have had must should shall can can't cannot could may might
    will would not no yes none null nil undefined true false please try check enter use using used see get
    got set unset reset required requires require missing invalid incorrect wrong bad expired revoked
    unknown unexpected expected expecting empty too does did do don't failed failure fail error ok okay
    success default optional unauthorized unauthenticated forbidden denied rejected mismatch mismatched
    disabled enabled at least length minimum maximum field value format input this that it its your you we
    our for from in on of to with without by and or but if when then than as into only limit exceeded
    usage type name string str int integer number bool boolean object array list text bytes any both all
    some each more less there here what which who why how were found provided given supplied specified
    needed need needs ask contact change changed update updated verify verification authentication
    authorization validation n/a tbd todo redacted hidden masked withheld loading pending passed
"""
_NO_FOREIGN_VALUES: Final = (
    "不|未|无|無|错|錯|必|为空|長|长|请|請|已|过期|缺|至少|应|が|は|を|не|отсутств|неверн|올바르|필요"
)
_NOTHING: Final = LazyPattern(
    rf"""an?[ ]|(?:{"|".join(_NO_VALUES.split())})(?:[\s.,:;!?}}\])"'|]|$)|{_NO_FOREIGN_VALUES}"""
    # a placeholder, or a redacted value
    r"|\$\{[^{}\s]{0,64}\}|\$\([^()\n]{0,64}\)|\$[A-Z_]{1,64}\b|<[A-Za-z_ -]{0,64}>|\{\{|\{[A-Za-z_]{0,64}\}"
    r"|%\(\w{1,32}\)s|%[A-Z_]{1,64}%|%[sdvr](?!\w)|\*{1,64}(?![\w*])|\.{3}"
    r"|\[(?:redacted|secure|filtered|hidden|masked)\](?![^\s\"'&)},;.\]])",
    _FLAGS,
)
_NUMBER: Final = LazyPattern(r"""["'`]?[-+]?\d{1,7}(?:[.,]\d{1,6})?%?(?:["'`\s.,;:)}\]]|$)""", re.ASCII)
_MAY_BE_A_NUMBER: Final = LazyPattern(
    r"pass|pwd|pin|otp|pw|secret|密|口令|パスワード|비밀|парол", re.IGNORECASE
)

_OPENING: Final = (
    r"(?:(?:Some|SecretStr|SecretBytes|Secret|String|Just|HeaderValue|bytes|str|new String)\()?"
    rf"(?:[A-Za-z@$]{{1,3}}(?={_QUOTE}))?"
)
_VALUE: Final = LazyPattern(
    _OPENING
    + r"""(?:(?:\\+"[^"\n]*+"?|"(?:[^"\\\n]|\\.)*+"?|\\+'[^'\n]*+'?|'(?:[^'\\\n]|\\.)*+'?|`[^`\n]*+`?)"""
    r"""|\[(?!redacted\])[^\]\n]*+\]?|\{[^{}\n]*+\}?|\((?=\w{0,2}["'])[^()\n]*+\)?"""
    r"""|(?P<bare>(?:\[redacted\])?(?:(?:bearer|basic|token|digest|negotiate|ntlm|bot|apikey)[ ](?=\S))?"""
    # of a query it ends at the next parameter, of a connection string at the semicolon
    r"""(?:[^\s"'&;]|&(?!\w{1,64}=)|;(?!\s|\w{1,64}[ ]?=|$)|["'](?=[^\s,;:)}\]>."'&]))++))""",
    _FLAGS,
)
_MORE_WORDS: Final = LazyPattern(r"(?:[ ][^\s;=\"']{1,64}){1,8}(?=;)")
"""Matches the further words of a value in a connection string, which ends at the semicolon."""
_LINE: Final = LazyPattern(r"[^\n]++")
_ELEMENT_VALUE: Final = LazyPattern(r"[^<]++")
_END_OF_SENTENCE: Final = ")]},.;:!?>"
_AROUND: Final = "\\\"'`[](){}"

_COMPARED: Final = LazyPattern(
    r"""(["'`])([^"'`\n]{1,200})\1[ ]?[=!]={1,2}[ ]?([A-Za-z_$][\w.$]{0,127})""", re.ASCII
)
"""Matches a value before its name: `"x" == password`."""


def is_no_value(text: str, place: int) -> bool:
    """Return whether a place behind the name of a secret has a word of a sentence, or a placeholder."""
    return _NOTHING.match(text, place) is not None


def hide_named_secrets(text: str) -> str:
    """Return `text` with the values after all names of secrets replaced."""
    if "==" in text or "!=" in text:
        text = _COMPARED.sub(_without_compared, text)
    pieces: list[str] = []
    end = 0
    for start, stop in _values(text):
        pieces += (text[end:start], REDACTED)
        end = stop
    return "".join((*pieces, text[end:])) if pieces else text


def _without_compared(comparison: re.Match[str]) -> str:
    if comparison[2] == REDACTED or not is_secret_name(comparison[3]):
        return comparison[0]
    return comparison[0].replace(comparison[2], REDACTED, 1)


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the secrets, from left to right."""
    end = 0
    for name in NAME.finditer(text):
        if name.start() >= end and is_secret_name(name[0]) and (span := _value_after(text, name)):
            yield span
            end = span[1]


def _value_after(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    before = text[name.start() - 1 : name.start()]
    if before in _BEFORE_ELEMENT and (opened := _ELEMENT.match(text, name.end())):
        return _element_value(text, opened.end())
    joined = _ASSIGNED.match(text, name.end())
    if joined is None and before == "{":
        joined = _OF_A_TUPLE.match(text, name.end())
    if joined is None:
        return _plain_value(text, name.end() + 1) if _is_set(text, name) else None
    if _NUMBER.match(text, joined.end()) and not _MAY_BE_A_NUMBER.search(name[0]):
        return None
    return (_block_value if joined["block"] else _plain_value)(text, joined.end())


def _is_set(text: str, name: re.Match[str]) -> bool:
    """Return whether the name is the argument of a command that sets it to the next word."""
    before = text[max(0, name.start() - _COMMAND_CHARACTERS) : name.start()]
    return text[name.end() : name.end() + 1] == " " and _COMMAND.search(before) is not None


def _element_value(text: str, start: int) -> tuple[int, int] | None:
    value = _ELEMENT_VALUE.match(text, start)
    if value is None or not _is_value(value[0]):
        return None
    return start, start + len(value[0].removesuffix("]]>"))


def _block_value(text: str, start: int) -> tuple[int, int] | None:
    line = _LINE.match(text, start)
    return line.span() if line and _is_value(line[0]) else None


def _plain_value(text: str, start: int) -> tuple[int, int] | None:
    value = None if _NOTHING.match(text, start) else _VALUE.match(text, start)
    if value is None:
        return None
    shown = value[0].rstrip(_END_OF_SENTENCE) if value["bare"] else value[0]
    if not _is_value(shown):
        return None
    end = start + len(shown)
    more = _MORE_WORDS.match(text, end) if "=" in text[max(0, start - 2) : start] else None
    return start, more.end() if more else end


def _is_value(value: str) -> bool:
    inner = value.strip().strip(_AROUND)
    return inner != "redacted" and not _NOTHING.fullmatch(inner) and any(map(str.isalnum, inner))
