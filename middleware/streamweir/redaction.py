"""What must not reach a user, taken out of a text that may.

Errors, warnings, details and failed steps pass through here; answers never do. The rules are one table,
applied from top to bottom: whole traces first, then addresses that hold other secrets, then single secrets.

The text comes from a peer and may be hostile: only its first `SCAN_LIMIT` characters are read, and no pattern
can start in the middle of a run that it has already walked (look-behinds, possessive and bounded repeats), so
the time grows with the length alone.

Source: the standard protocol 1.1, section 3 rule 10 and section 5 ("redaction").
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

__all__ = ["REDACTED", "SCAN_LIMIT", "hide_credentials", "redact", "redact_value"]

REDACTED: Final = "[redacted]"

SCAN_LIMIT: Final = 8192
"""How much of a text is looked at: sixteen times what is shown by default."""

_ELLIPSIS: Final = "…"
_ROUNDS: Final = 6  # one rule may uncover work for another; honest text is stable after two
_MAX_DEPTH: Final = 12  # deeper details help nobody
_MAX_COST: Final = 2 * SCAN_LIMIT  # of one value: characters looked at ...
_NODE_COST: Final = 32  # ... and what a node costs however short it is

_CONTROLS: Final = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)]),  # C0 and C1
    **dict.fromkeys(
        [0xAD, 0x200B, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    ),  # unseen, bidi
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # half a character is no Unicode
    **dict.fromkeys([ord("\n"), 0x85, 0x2028, 0x2029], "\n"),
    ord("\t"): " ",
}

_CREDENTIALS: Final = frozenset(
    {
        *("private key", "credential header", "bearer token", "basic credentials"),
        *("named secret", "named secret, Chinese", "secret of a query"),
        *("openai key", "stripe key", "github or gitlab token", "slack token", "aws key id", "google key"),
        *("other vendors' key", "json web token", "masked secret", "opaque mixed token", "base64"),
    }
)
"""The rules that hold for logs too; hexadecimal ids, which are of use there, pass."""


class _Rule(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    replacement: str = REDACTED


# Pieces of patterns. All are ASCII: a Chinese character beside a token is its border, as a space is.
_URL = r"""[!#-&(-;=?-~]"""  # what a URL may hold: visible ASCII except quotes and angle brackets
_URL_REST = rf"{_URL}*(?<![).,;:!?\]}}])"  # ... without the sentence's own punctuation at its end
_PORT = r"(?::\d{1,5})?"
_PRIVATE_V4 = (
    r"(?:(?:10|127|0)(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|169\.254(?:\.\d{1,3}){2}"
    r"|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.\d{1,3}){2})"
)
_PRIVATE_V6 = (
    r"(?:(?:0{0,4}:){2,7}0{0,3}1|(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):(?:[0-9a-f]{0,4}:){1,7}[0-9a-f]{0,4})"
)
_INTERNAL_NAME = (
    r"[a-z0-9_](?:[a-z0-9_-]{0,62}\.){1,8}(?:internal|intranet|intra|local|localdomain|svc|lan|corp)"
    r"(?:\.[a-z0-9-]{1,63}){0,8}(?![\w-])"
)
_SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase|code)s?|pwd|secrets?|token|credentials?|authorization|cookie"
    r"|connection[ _-]?string|(?:api|access|account|auth|encryption|private|secret|signing)[ _-]?key)"
    r"(?:[_-]?(?:hash|value|\d{1,3}))?"
)
# "password: required" is a sentence, and nobody's password
_NO_SECRET = (
    r"(?!(?:a|an|the|is|was|are|be|has|have|must|should|can|cannot|may|not|no|none|null|nil|undefined|true|false"
    r"|please|try|check|enter|use|see|required|missing|invalid|incorrect|wrong|expired|revoked|unknown|unexpected"
    r"|expected|empty|too|does|did|failed|unauthorized|forbidden)(?:[\s.,!;}\]\)]|$))"
)
_SECRET_VALUE = (
    r"""(?:\\+"[^"\n]*+"?|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?"""
    r"""|\[redacted\](?:[^\s&"'}\]),;.][^\s&"'}]*+)?|[^\s&"'}\]]++)"""
)
_SOURCE_FILE = r"\.(?:pyc?|[cm]?[jt]sx?|vue|java|kt|scala|go|rs|rb|php|cs|cc|cpp|h|so|dll|exe|sh)"
_ROOTS = (
    r"(?:app|bin|boot|code|data|dev|etc|home|lib|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|workspace"
    r"|Users|Volumes|Library|private)"
)
_LINE = r"(?:(?::\d{1,9}){1,2}|,? line \d{1,9})?"
_PATH_REST = r"""(?:/[^\s"'`<>|:*?,;()\[\]，。；：、）]*+)"""


def _rule(name: str, pattern: str, replacement: str = REDACTED, flags: int = 0) -> _Rule:
    return _Rule(name, re.compile(pattern, re.ASCII | flags), replacement)


_RULES: Final[tuple[_Rule, ...]] = (
    # --- traces ---
    # a trace goes on to the end of the text: where it ends cannot be told from what it quotes
    _rule("python trace", r"\bTraceback(?: \(most recent call last\)|:).*", flags=re.DOTALL),
    _rule("go trace", r"\bgoroutine \d{1,9} \[.*", flags=re.DOTALL),
    _rule("python frame", r"""\bFile \\?["'][^"'\n]{1,400}["'], line \d{1,9}(?:, in [\w.<>]{1,200})?"""),
    # at com.x.Y.run(Z.java:10), at async foo (/a/b.js:1:2)
    _rule(
        "java or js frame",
        r"\bat (?:async |new )?(?:[\w.$<>\[\]/@-]{1,200} ?)?"
        r"\((?:[^()\s]{1,300}\.\w{1,8}|node:[^()\s:]{1,200}|<anonymous>|Native Method|Unknown Source|native)"
        r"(?::\d{1,9}){0,2}\)",
    ),
    # at Acme.Job.Run(String name) in C:\src\Job.cs:line 3
    _rule("dotnet frame", r"\bat [\w.<>`+\[\],]{1,200}\([^()\n]{0,200}\) in [^\n]{1,300}?:line \d{1,9}"),
    _rule("java frames left out", r"\.\.\. \d{1,6} (?:common frames omitted|more)\b"),
    # --- what holds other secrets ---
    _rule(
        "private key", r"-----BEGIN [A-Z ]{1,40}-----.*?(?:-----END [A-Z ]{1,40}-----|\Z)", flags=re.DOTALL
    ),
    # postgres://app:pw@host/db, file:///x, s3://bucket: nothing but http and ws is written for users
    _rule(
        "url of a service",
        rf"(?<![\w+.-])(?!(?:https?|wss?)://)(?:jdbc:)?[a-z][a-z0-9+.-]{{1,30}}://{_URL_REST}",
        flags=re.I,
    ),
    _rule("url with credentials", rf"(?<![\w/])(?:https?|wss?)://[!#-&(-;=?A-~]*+@{_URL_REST}", flags=re.I),
    # by address, by suffix, or by a name without a dot
    _rule(
        "internal url",
        rf"(?:https?|wss?)://(?:{_PRIVATE_V4}(?!\.?\d)|\[{_URL}*|{_INTERNAL_NAME}|[\w-]++(?!\.\w))"
        rf"{_PORT}(?:[/?#]{_URL_REST})?",
        flags=re.I,
    ),
    # --- secrets by their name ---
    # the whole line: cookies and schemes hold spaces and semicolons
    _rule(
        "credential header",
        r"""\b((?:proxy-)?authorization|(?:set-)?cookie)(\\?["']?[ ]?[:=][ ]?+)"""
        r"""(?!\[redacted\](?:$|\n))[^\n]+""",
        rf"\1\2{REDACTED}",
        re.I,
    ),
    _rule(
        "bearer token",
        r"\b(bearer) (?!(?:tokens?|auth\w*|scheme|credentials?|of|is|and|or|not|was|missing|required)\b)"
        r"(?!\[redacted\])[^\s\"',;]+",
        rf"\1 {REDACTED}",
        re.I,
    ),
    # "Basic plan" is a plan; base64 shows by its digits, padding or capitals
    _rule(
        "basic credentials",
        r"\b([Bb]asic) (?=[A-Za-z]*[\d+/=]|[A-Za-z]*[a-z][A-Z])[A-Za-z0-9+/]{3,}={0,2}",
        rf"\1 {REDACTED}",
    ),
    # password=abc, "api_key": "abc", DB_TOKEN => abc, API key provided: abc
    _rule(
        "named secret",
        rf"(?<![\w.-])([\w.-]*?{_SECRET_NAME}(?: provided)?\\*[\"']?[ ]{{0,3}}(?:=>|[:=：＝])[ ]{{0,3}})"
        rf"{_NO_SECRET}{_SECRET_VALUE}",
        rf"\1{REDACTED}",
        re.I,
    ),
    _rule(
        "named secret, Chinese",
        rf"((?:密码|密钥|口令|令牌)[ ]?[:=：＝][ ]?){_SECRET_VALUE}",
        rf"\1{REDACTED}",
    ),
    _rule(
        "secret of a query",
        r"([?&](?:key|code|sig|signature|x-amz-(?:signature|credential))=)[^\s&\"'<>]+",
        rf"\1{REDACTED}",
        re.I,
    ),
    # --- secrets by their form ---
    _rule("openai key", r"\b[srp]k-(?!learn\b)[\w*.…-]*[\w*…]"),
    _rule("stripe key", r"\b[srp]k_(?:live|test)_\w+|\b[srp]k_(?=[A-Za-z_]*\d)\w{6,}"),
    _rule("organization or project", r"\b(?:org|proj)[-_](?=[a-z_-]*[A-Z\d])[\w-]{4,}"),
    _rule("github or gitlab token", r"\b(?:gh[opsur]_|github_pat_|glpat-)[\w-]{3,}"),
    _rule("slack token", r"\bxox[a-z]-[\w-]{3,}|\bxapp-[\w-]{3,}"),
    _rule("aws key id", r"\bA(?:KIA|SIA|ROA|IDA)[0-9A-Z]{8,}"),
    _rule("google key", r"\bAIza[\w-]{8,}|\bya29\.[\w-]{8,}"),
    _rule("other vendors' key", r"\b(?:hf_|gsk_|r8_|npm_|pplx-|tvly-|nvapi-|lsv2_)[A-Za-z0-9]{12,}\w*"),
    _rule("json web token", r"\beyJ[\w-]{6,}(?:\.[\w-]*){0,4}"),
    _rule("masked secret", r"(?<![\w*-])[\w-]*+\*{4,}[\w-]*"),
    # --- addresses ---
    _rule(
        "e-mail address",
        r"(?<![\w.+%-])[\w.+%-]++@(?=[a-z])[\w-]+(?:\.[\w-]+){0,8}\.[a-z]{2,24}\b",
        flags=re.I,
    ),
    _rule("private ipv4", rf"(?<!\d)(?<!\d\.){_PRIVATE_V4}(?!\.?\d){_PORT}(?:/\d{{1,2}}(?!\d))?"),
    _rule("private ipv6", rf"(?<![\w:])\[?{_PRIVATE_V6}(?:%\w{{1,20}})?(?:\]{_PORT})?(?![\w:])", flags=re.I),
    _rule("internal host", rf"(?<![\w.-]){_INTERNAL_NAME}{_PORT}", flags=re.I),
    _rule("localhost", rf"(?<![\w.-])localhost(?![\w-]){_PORT}", flags=re.I),
    _rule(
        "internal label",
        rf"(?<![\w.-])(?!non-)[a-z0-9]++(?:-[a-z0-9]++){{0,8}}(?<=-internal){_PORT}(?![\w-])",
        flags=re.I,
    ),
    _rule("ec2 host", r"\bip(?:-\d{1,3}){4}(?:\.[\w-]{1,63}){0,8}"),
    # db-1:5432, redis:6379; but not max-tokens:4096
    _rule(
        "host and port",
        r"(?<![\w./-])(?!(?:[a-z0-9]++-)*+(?:id|ids|tokens?|size|count|limit|length|code|line|row|rows|max|min|year):)"
        r"(?:[a-z][a-z0-9]*+(?:-[a-z0-9]++){1,8}"
        r"|(?:db|sql|postgres(?:ql)?|pg|mysql|mariadb|mongo(?:db)?|redis|kafka|rabbitmq|nats|minio|elasticsearch"
        r"|opensearch|qdrant|milvus|weaviate|ollama|vllm|consul|vault|backend|upstream|worker|server|proxy|gateway|api"
        r"|host)\d{0,3}):(?:80|443|\d{4,5})(?!\w)",
    ),
    # host name "db", HTTPConnectionPool(host='db', ENOTFOUND db
    _rule(
        "host by name",
        r"""\b(host(?:[ _]?name)? ?[=:]? ?)["'][^"'\s]{1,253}["']"""
        r"""|\b(ENOTFOUND |EAI_AGAIN |hostname=)[\w.-]{1,253}(?![\w.-])""",
        rf"\1\2{REDACTED}",
    ),
    # --- paths ---
    _rule(
        "windows path",
        r"(?<![A-Za-z0-9])[A-Za-z]:(?:\\{1,2}|/(?!/))"
        rf"""(?:[^\\/:*?"'<>|\n]{{1,100}}[\\/]{{1,2}})*+[^\\/:*?"'<>|,;\s]*{_LINE}""",
    ),
    _rule("windows share", rf"""\\\\[\w.-]+(?:\\{{1,2}}[^\\/:*?"'<>|,;\s]+)+{_LINE}"""),
    # two components at least, or a well-known root, or a file: "/help" is a command, "and/or" a word
    _rule(
        "path",
        rf"(?<![\w/~])(?:~|\.{{1,2}})?/(?:[\w@%+~.-]++{_PATH_REST}++|[\w@%+~-]*+\.[A-Za-z]\w{{0,4}}\b|{_ROOTS}(?![\w-])){_LINE}",
    ),
    _rule("path from home", rf"(?<![\w/~])~\w{{0,32}}/[^\s\"'`<>|:*?,;()]*+{_LINE}"),
    _rule("source file", rf"(?<![\w/.@-])(?:[\w@.-]++/)++[\w@.-]*?{_SOURCE_FILE}(?!\w){_LINE}"),
    _rule("source line", rf"(?<![\w.-])[\w-]++{_SOURCE_FILE}(?::\d{{1,9}}){{1,2}}"),
    # --- whatever is left that no person would write; request ids (req_...) are for the user to quote ---
    _rule(
        "opaque token", r"(?<![A-Za-z0-9])(?<!req_)(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}[\w+/=-]*"
    ),
    _rule(
        "opaque mixed token",
        r"(?<![A-Za-z0-9])(?<!req_)(?=[A-Za-z]*\d)(?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z0-9]{24,}[\w+/=-]*",
    ),
    _rule(
        "base64",
        r"(?<![A-Za-z0-9+/])(?=[A-Za-z+/]*\d)(?=[a-z\d+/]*[A-Z])(?=[A-Z\d+/]*[a-z])[A-Za-z0-9+/]{40,}={0,2}",
    ),
    # --- the holes ---
    _rule("holes in a row", r"\[redacted\](?:[ \n]?[,;:.]?[ \n]?\[redacted\])+"),
    _rule("quoted hole", r"""(["'])\[redacted\]\1"""),
    _rule("spaces", r" {2,}", " "),
    _rule("empty lines", r" ?\n[ \n]*", "\n"),
)

# A log keeps addresses, paths and traces; of a URL only the credentials go.
_CREDENTIAL_RULES: Final = (
    _rule(
        "credentials of a url",
        r"""(?<![\w+.-])([a-z][a-z0-9+.-]{1,30}://)(?:[^\s/"'<>@]*+@)++""",
        rf"\1{REDACTED}@",
        re.I,
    ),
    *(rule for rule in _RULES if rule.name in _CREDENTIALS),
)

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_SECRET_KEY: Final = re.compile(rf"{_SECRET_NAME}\Z", re.ASCII | re.IGNORECASE)


def redact(text: str, *, limit: int = 500) -> str:
    """Return `text` without secrets, addresses, paths and traces, at most `limit` characters long.

    What is taken out becomes `[redacted]`; ordinary sentences pass unchanged, aside from control characters
    and repeated spaces. `redact(redact(text)) == redact(text)`. Never raises.

    Returns:
        `"[redacted]"` alone where nothing worth reading is left; an empty string for a text without any.
    """
    for _ in range(_ROUNDS):
        clean = _clip(_redact_once(text), limit)
        if clean == text:
            return clean
        text = clean
    return _clip(REDACTED, limit)  # a text built to keep the rules busy


def hide_credentials(text: str, *, limit: int = SCAN_LIMIT) -> str:
    """Return `text` for a log: without credentials and control characters, at most `limit` characters long.

    Addresses, paths and traces stay. Never raises.
    """
    text = _ANSI.sub("", _head(text)).translate(_CONTROLS)
    for rule in _CREDENTIAL_RULES:
        text = rule.pattern.sub(rule.replacement, text)
    return _clip(text, limit)


def redact_value(value: object, *, limit: int = 500) -> object:
    """Return a copy of a JSON-like `value` with every string redacted to at most `limit` characters.

    The values of keys such as `password` or `api_key` are replaced whole, and so is what is no JSON (bytes,
    objects) or nested too deep. Of a value with hundreds of nodes or kilobytes of text the end is left out.
    """
    return _Walk(limit).copy(value, _MAX_DEPTH)


class _Walk:
    """One walk through a value, with what is left of its budget."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._budget = _MAX_COST

    def copy(self, value: object, depth: int) -> object:
        self._budget -= _NODE_COST
        if isinstance(value, str):
            return self._copy_text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth > 0 and isinstance(value, dict):
            return self._copy_object(value, depth)
        if depth > 0 and isinstance(value, list | tuple):
            return self._copy_list(value, depth)
        return REDACTED

    def _copy_text(self, text: str) -> str:
        self._budget -= min(len(text), SCAN_LIMIT)
        return redact(text, limit=self._limit)

    def _copy_object(self, value: Mapping[object, object], depth: int) -> dict[str, object]:
        copy: dict[str, object] = {}
        for key, item in value.items():
            if self._budget <= 0:
                break
            name = key if isinstance(key, str) else REDACTED
            clean = self._copy_text(name)
            copy[clean] = REDACTED if _is_secret(name) or _is_secret(clean) else self.copy(item, depth - 1)
        return copy

    def _copy_list(self, value: Sequence[object], depth: int) -> list[object]:
        copy: list[object] = []
        for item in value:
            if self._budget <= 0:
                break
            copy.append(self.copy(item, depth - 1))
        return copy


def _is_secret(name: str) -> bool:
    return _SECRET_KEY.search(name[-SCAN_LIMIT:]) is not None


def _redact_once(text: str) -> str:
    text = _ANSI.sub("", _head(text)).translate(_CONTROLS)
    for rule in _RULES:
        text = rule.pattern.sub(rule.replacement, text)
    text = text.strip()
    return REDACTED if REDACTED in text and _says_nothing(text) else text


def _head(text: str) -> str:
    """Return what is looked at of `text`: whole words only, since half a secret has no form to know it by."""
    if len(text) <= SCAN_LIMIT:
        return text.replace("\r", "\n")
    whole = text[:SCAN_LIMIT].rstrip(string.ascii_letters + string.digits + string.punctuation)
    return (whole or REDACTED).replace("\r", "\n")


def _says_nothing(text: str) -> bool:
    return not any(character.isalnum() for character in text.replace(REDACTED, ""))


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + _ELLIPSIS if limit > 0 else ""
