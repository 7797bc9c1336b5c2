"""Rules for internal addresses, host names and paths."""

from __future__ import annotations

import re
from typing import Final

from streamweir.redaction.rule import ESCAPED, PORT, REDACTED, START, URL, URL_REST, Rule, rule

__all__ = ["ADDRESS_RULES", "INTERNAL_URL"]

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
_SOURCE_FILE = r"\.(?:pyc?|[cm]?[jt]sx?|vue|java|kt|scala|go|rs|rb|php|cs|cc|cpp|h|so|dll|exe|sh)"
_ROOTS = (
    r"(?:app|bin|boot|code|data|dev|etc|home|lib|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|workspace"
    r"|Users|Volumes|Library|private)"
)
_LINE = r"(?:(?::\d{1,9}){1,2}|,? line \d{1,9})?"
_PATH_REST = r"""(?:/[^\s"'`<>|:*?,;()\[\]，。；：、）]*+)"""

# by address, by suffix, or by a name without a dot
INTERNAL_URL: Final = rule(
    "internal url",
    rf"(?:https?|wss?)://(?:{_PRIVATE_V4}(?!\.?\d)|\[{URL}*+|{_INTERNAL_NAME}|[\w-]++(?!\.\w))"
    rf"{PORT}(?:[/?#]{URL_REST})?",
    flags=re.I,
)

ADDRESS_RULES: Final[tuple[Rule, ...]] = (
    # --- addresses ---
    rule(
        "e-mail address",
        r"(?<![\w.+%-])[\w.+%-]++@(?=[a-z])[\w-]+(?:\.[\w-]+){0,8}\.[a-z]{2,24}\b",
        flags=re.I,
    ),
    rule(
        "e-mail address, international",
        r"(?<![\w.+%-])[\w.+%-]++@(?=[^\x00-\x7f])[^\s@\"'<>()，。；：、（）]{1,64}?\.[^\x00-\x7f，。；：、（）]{2,8}",
    ),
    rule("private ipv4", rf"(?<!\d)(?<!\d\.){_PRIVATE_V4}(?!\.?\d){PORT}(?:/\d{{1,2}}(?!\d))?"),
    rule(
        "private ipv6",
        rf"(?:(?<![\w:])|{ESCAPED})\[?{_PRIVATE_V6}(?:%\w{{1,20}})?(?:\]{PORT})?(?![\w:])",
        flags=re.I,
    ),
    rule("internal host", rf"(?<![\w.-]){_INTERNAL_NAME}{PORT}", flags=re.I),
    rule("localhost", rf"(?<![\w.-])localhost(?![\w-]){PORT}", flags=re.I),
    rule(
        "internal label",
        rf"(?<![\w.-])(?!non-)[a-z0-9]++(?:-[a-z0-9]++){{0,8}}(?<=-internal){PORT}(?![\w-])",
        flags=re.I,
    ),
    rule("ec2 host", START + r"ip(?:-\d{1,3}){4}(?:\.[\w-]{1,63}){0,8}"),
    # db-1:5432, redis:6379; but not max-tokens:4096
    rule(
        "host and port",
        r"(?<![\w./-])(?!(?:[a-z0-9]++-)*+(?:id|ids|tokens?|size|count|limit|length|code|line|row|rows|max|min|year):)"
        r"(?:[a-z][a-z0-9]*+(?:-[a-z0-9]++){1,8}"
        r"|(?:db|sql|postgres(?:ql)?|pg|mysql|mariadb|mongo(?:db)?|redis|kafka|rabbitmq|nats|minio|elasticsearch"
        r"|opensearch|qdrant|milvus|weaviate|ollama|vllm|consul|vault|backend|upstream|worker|server|proxy|gateway|api"
        r"|host)\d{0,3}):(?:80|443|\d{4,5})(?!\w)",
    ),
    # host name "db", HTTPConnectionPool(host='db', ENOTFOUND db
    rule(
        "host by name",
        r"""\b(host(?:[ _]?name)? ?[=:]? ?)["'][^"'\s]{1,253}["']"""
        r"""|\b(ENOTFOUND |EAI_AGAIN |hostname=)[\w.-]{1,253}(?![\w.-])""",
        rf"\1\2{REDACTED}",
    ),
    # --- paths ---
    rule(
        "windows path",
        r"(?<![A-Za-z0-9])[A-Za-z]:(?:\\{1,2}|/(?!/))"
        rf"""(?:[^\\/:*?"'<>|\n]{{1,100}}[\\/]{{1,2}})*+[^\\/:*?"'<>|,;\s]*{_LINE}""",
    ),
    rule("windows share", rf"""\\\\[\w.-]+(?:\\{{1,2}}[^\\/:*?"'<>|,;\s]+)+{_LINE}"""),
    # two components at least, or a well-known root, or a file: "/help" is a command, "and/or" a word
    rule(
        "path",
        rf"(?:(?<![\w/~])|{ESCAPED})(?:~|\.{{1,2}})?/(?:[\w@%+~.-]++{_PATH_REST}++|[\w@%+~-]*+\.[A-Za-z]\w{{0,4}}\b|{_ROOTS}(?![\w-])){_LINE}",
    ),
    rule("path from home", rf"(?<![\w/~])~\w{{0,32}}/[^\s\"'`<>|:*?,;()]*+{_LINE}"),
    rule("source file", rf"(?<![\w/.@-])(?:[\w@.-]++/)++[\w@.-]*?{_SOURCE_FILE}(?!\w){_LINE}"),
    rule("source line", rf"(?<![\w.-])[\w-]++{_SOURCE_FILE}(?::\d{{1,9}}){{1,2}}"),
)
