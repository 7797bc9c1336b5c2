"""The rules of redaction: one table, applied from top to bottom.

Whole traces first, then addresses that hold other secrets, then single secrets. No pattern can start in the
middle of a run that it has already walked (look-behinds, possessive and bounded repeats), so that the time
grows with the length of a text alone.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["CREDENTIAL_RULES", "REDACTED", "RULES", "SECRET_KEY", "Rule"]

REDACTED: Final = "[redacted]"

_CREDENTIALS: Final = frozenset(
    {
        *("private key", "credential header", "bearer token", "basic credentials"),
        *("named secret", "named secret, other languages", "secret of a query"),
        *("prefixed key", "key in parts"),
        *("secret in a sentence", "secret in quotes", "secret of a command"),
        *("openai key", "stripe key", "github or gitlab token", "slack token", "aws key id", "google key"),
        *("other vendors' key", "json web token", "masked secret", "opaque mixed token", "base64"),
    }
)
"""The rules that hold for logs too; hexadecimal ids, which are of use there, pass."""


class Rule(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    replacement: str = REDACTED


# Pieces of patterns. All are ASCII: a Chinese character beside a token is its border, as a space is.
_URL = r"""[!#-&(-;=?-~]"""  # what a URL may hold: visible ASCII except quotes and angle brackets
_URL_REST = rf"{_URL}*(?<![).,;:!?\]}}])"  # ... without the sentence's own punctuation at its end
_PORT = r"(?::\d{1,5})?"
_ESCAPED = r"(?<=\\[nrt])"  # a line of a text that was put into JSON as it was: its letter is none of a word
_START = rf"(?:\b|{_ESCAPED})"
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


def _rule(name: str, pattern: str, replacement: str = REDACTED, flags: int = 0) -> Rule:
    return Rule(name, re.compile(pattern, re.ASCII | flags), replacement)


RULES: Final[tuple[Rule, ...]] = (
    # --- traces ---
    # a trace goes on to the end of the text: where it ends cannot be told from what it quotes
    _rule("python trace", rf"{_START}Traceback(?: \(most recent call last\)|:).*", flags=re.DOTALL),
    _rule("go trace", rf"{_START}goroutine \d{{1,9}} \[.*", flags=re.DOTALL),
    _rule(
        "python frame",
        rf"""{_START}File \\?["'][^"'\n]{{1,400}}["'], line \d{{1,9}}(?:, in [\w.<>]{{1,200}})?""",
    ),
    # at com.x.Y.run(Z.java:10), at async foo (/a/b.js:1:2)
    _rule(
        "java or js frame",
        rf"{_START}at (?:async |new )?(?:[\w.$<>\[\]/@-]{{1,200}} ?)?"
        r"\((?:[^()\s]{1,300}\.\w{1,8}|node:[^()\s:]{1,200}|<anonymous>|Native Method|Unknown Source|native)"
        r"(?::\d{1,9}){0,2}\)",
    ),
    # at Acme.Job.Run(String name) in C:\src\Job.cs:line 3
    _rule(
        "dotnet frame",
        rf"{_START}at [\w.<>`+\[\],]{{1,200}}\([^()\n]{{0,200}}\) in [^\n]{{1,300}}?:line \d{{1,9}}",
    ),
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
        _START
        + r"(bearer) (?!(?:tokens?|auth\w*|scheme|credentials?|of|is|and|or|not|was|missing|required)\b)"
        r"(?!\[redacted\])[^\s\"',;]+",
        rf"\1 {REDACTED}",
        re.I,
    ),
    # "Basic plan" is a plan; base64 shows by its digits, padding or capitals
    _rule(
        "basic credentials",
        _START + r"([Bb]asic) (?=[A-Za-z]*[\d+/=]|[A-Za-z]*[a-z][A-Z])[A-Za-z0-9+/]{3,}={0,2}",
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
        "named secret, other languages",
        rf"((?:密码|密钥|口令|令牌|凭证|パスワード|비밀번호|пароль|passwort|kennwort|mot de passe"
        rf"|contraseña|senha)[ ]?[:=：＝][ ]?){_SECRET_VALUE}",
        rf"\1{REDACTED}",
        re.I,
    ),
    # in a sentence only what has letters and digits: "the password is wrong", "密码为空"
    _rule(
        "secret in a sentence",
        r"(\b(?:password|passwd|pwd|passphrase|secret|token|(?:api|access|secret)[ _-]?key)"
        r"(?: (?:is|was|of))? "
        r"|(?:密码|密钥|口令|令牌)(?:是|为)?[ ]?)"
        r"(?![\w-]*[:=(])(?=[\x21-\x7e]*[A-Za-z])(?=[\x21-\x7e]*\d)[\x21-\x7e]{6,}(?<![.,;:!?)\]}])",
        rf"\1{REDACTED}",
        re.I,
    ),
    _rule(
        "secret in quotes",
        r"""(\b(?:(?:password|passwd|passphrase|secret)(?: is| was)?|identified by) )"""
        r"""["'`][^"'`\s]{3,200}["'`]""",
        rf"\1{REDACTED}",
        re.I,
    ),
    _rule(
        "secret of a command",
        r"(?<![\w-])(--[\w-]{0,40}?(?:password|passwd|token|secret|key)[ ]|(?:-u|--user)[ ](?=[^\s:]{1,64}:))"
        r"(?!(?:and|argument|flag|is|must|needs?|option|or|requires?|to|was)\b)[^\s\"'-][^\s\"']*+",
        rf"\1{REDACTED}",
        re.I,
    ),
    _rule(
        "secret of a query",
        r"([?&](?:key|code|sig|signature|x-amz-(?:signature|credential))=)[^\s&\"'<>]+",
        rf"\1{REDACTED}",
        re.I,
    ),
    # --- secrets by their form ---
    _rule("openai key", _START + r"[srp]k-(?!learn\b)[\w*.…-]*[\w*…]"),
    _rule("stripe key", _START + r"[srp]k_(?:(?:live|test)_\w+|(?=[A-Za-z_]*\d)\w{6,})"),
    _rule("organization or project", _START + r"(?:org|proj)[-_](?=[a-z_-]*[A-Z\d])[\w-]{4,}"),
    _rule("github or gitlab token", _START + r"(?:gh[opsur]_|github_pat_|glpat-)[\w-]{3,}"),
    _rule("slack token", _START + r"(?:xox[a-z]|xapp)-[\w-]{3,}"),
    _rule("aws key id", _START + r"A(?:KIA|SIA|ROA|IDA)[0-9A-Z]{8,}"),
    _rule("google key", _START + r"(?:AIza|ya29\.)[\w-]{8,}"),
    _rule(
        "other vendors' key", _START + r"(?:hf_|gsk_|r8_|npm_|pplx-|tvly-|nvapi-|lsv2_)[A-Za-z0-9]{12,}\w*"
    ),
    # these may be the beginning of a word, so that the rest has to look like a key
    _rule(
        "prefixed key",
        _START
        + r"(?:sess-|app-|dataset-|fw_|xai-|figd_|lin_api_|pcsk_|whsec_|sntry[su]_|shpat_|dop_v1_|hvs\.)"
        r"(?=[A-Za-z_=-]*\d)(?=[a-z\d_=-]*[A-Z])[\w=-]{12,}",
    ),
    _rule(
        "key in parts",
        _START + r"(?:SG\.[\w-]{16,}\.[\w-]{16,}|pat-\w{2,4}-[\da-f-]{30,}|vault:v\d{1,4}:[\w+/=-]{8,}"
        r"|bce-v3/[^\s\"'，。]{8,})",
    ),
    _rule("json web token", _START + r"eyJ[\w-]{6,}(?:\.[\w-]*){0,4}"),
    _rule("masked secret", r"(?<![\w*-])[\w-]*+\*{4,}[\w-]*"),
    # --- addresses ---
    _rule(
        "e-mail address",
        r"(?<![\w.+%-])[\w.+%-]++@(?=[a-z])[\w-]+(?:\.[\w-]+){0,8}\.[a-z]{2,24}\b",
        flags=re.I,
    ),
    _rule(
        "e-mail address, international",
        r"(?<![\w.+%-])[\w.+%-]++@(?=[^\x00-\x7f])[^\s@\"'<>()，。；：、（）]{1,64}?\.[^\x00-\x7f，。；：、（）]{2,8}",
    ),
    _rule("private ipv4", rf"(?<!\d)(?<!\d\.){_PRIVATE_V4}(?!\.?\d){_PORT}(?:/\d{{1,2}}(?!\d))?"),
    _rule(
        "private ipv6",
        rf"(?:(?<![\w:])|{_ESCAPED})\[?{_PRIVATE_V6}(?:%\w{{1,20}})?(?:\]{_PORT})?(?![\w:])",
        flags=re.I,
    ),
    _rule("internal host", rf"(?<![\w.-]){_INTERNAL_NAME}{_PORT}", flags=re.I),
    _rule("localhost", rf"(?<![\w.-])localhost(?![\w-]){_PORT}", flags=re.I),
    _rule(
        "internal label",
        rf"(?<![\w.-])(?!non-)[a-z0-9]++(?:-[a-z0-9]++){{0,8}}(?<=-internal){_PORT}(?![\w-])",
        flags=re.I,
    ),
    _rule("ec2 host", _START + r"ip(?:-\d{1,3}){4}(?:\.[\w-]{1,63}){0,8}"),
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
        rf"(?:(?<![\w/~])|{_ESCAPED})(?:~|\.{{1,2}})?/(?:[\w@%+~.-]++{_PATH_REST}++|[\w@%+~-]*+\.[A-Za-z]\w{{0,4}}\b|{_ROOTS}(?![\w-])){_LINE}",
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
CREDENTIAL_RULES: Final[tuple[Rule, ...]] = (
    _rule(
        "credentials of a url",
        r"""(?<![\w+.-])([a-z][a-z0-9+.-]{1,30}://)(?:[^\s/"'<>@]*+@)++""",
        rf"\1{REDACTED}@",
        re.I,
    ),
    *(rule for rule in RULES if rule.name in _CREDENTIALS),
)

SECRET_KEY: Final = re.compile(rf"{_SECRET_NAME}\Z", re.ASCII | re.IGNORECASE)
"""A key of an object under which a secret stands."""
