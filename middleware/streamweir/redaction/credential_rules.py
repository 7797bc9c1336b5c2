"""Rules for credentials, recognised by the words around them, by their container, or by their form."""

from __future__ import annotations

import re
from typing import Final

from streamweir.redaction.rule import REDACTED, START, URL, URL_REST, Rule, rule

__all__ = [
    "CREDENTIALS_BY_CONTEXT",
    "CREDENTIALS_BY_FORM",
    "CREDENTIALS_BY_WORD",
    "CREDENTIALS_OF_A_URL",
    "OPAQUE",
    "URLS_WITH_CREDENTIALS",
]

_ENDS_A_SENTENCE: Final = r"(?<![.,;:!?)\]}])"

PRIVATE_KEY: Final = rule(
    "private key",
    r"-{4,5} ?BEGIN [A-Z0-9 ]{1,48}-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]{1,48}-{4,5}|\Z)"
    r"|PuTTY-User-Key-File-\d:.*|AGE-SECRET-KEY-1[A-Z0-9]+",
    flags=re.DOTALL,
)

CREDENTIALS_OF_A_URL: Final = rule(
    "credentials of a url",
    r"""(?<![\w+.-])([a-z][a-z0-9+.-]{1,30}://)(?!\[redacted\]@)[^\s"'<>]{0,512}@(?=[\w.\[-])""",
    rf"\1{REDACTED}@",
    re.I,
)
"""The rules for logs, in which all other text is kept."""

URLS_WITH_CREDENTIALS: Final[tuple[Rule, ...]] = (
    # postgres://app:pw@host/db, file:///x, s3://bucket: only http and ws URLs are written for users
    rule(
        "url of a service",
        rf"(?<![\w+.-])(?!(?:https?|wss?)://)(?:jdbc:)?[a-z][a-z0-9+.-]{{1,30}}://{URL_REST}",
        flags=re.I,
    ),
    rule(
        "url with credentials", rf"(?<![\w/])(?:https?|wss?)://[!#-&(-;=?A-~]{{0,512}}@{URL_REST}", flags=re.I
    ),
)

_COMMANDS: Final = (
    r"mysql\w{0,16}|mariadb\w{0,16}|sshpass|redis-cli|docker login|helm|htpasswd|sqlcmd|bcp|smbclient"
    r"|ldapsearch|mongo\w{0,8}|psql|ftp|lftp|kinit|zip|7z|mosquitto_\w{3}"
)
_WORD_OR_STRING: Final = r"""(?:"[^"\n]+"|'[^'\n]+'|[^\s"'-]\S*)"""

CREDENTIALS_BY_CONTEXT: Final[tuple[Rule, ...]] = (
    PRIVATE_KEY,
    rule(
        "webhook",
        r"https://(?:hooks\.slack\.com/|(?:\w{1,16}\.)?discord(?:app)?\.com/api/webhooks/|\w{1,64}\.webhook\.office\.com/"
        r"|api\.telegram\.org/bot|oapi\.dingtalk\.com/robot/|qyapi\.weixin\.qq\.com/cgi-bin/webhook/"
        rf"|open\.feishu\.cn/open-apis/bot/){URL}*",
        flags=re.I,
    ),
    # root:pw@tcp(db:3306)/app, app:pw@db:5432/app, scott/tiger@db:1521, without a scheme in front
    rule(
        "credentials of a host",
        r"(?:(?<![\w/:.@-])|(?<=:thin:))[\w.$-]{1,64}[:/](?!/)[^\s\"'@/<>]{1,128}@(?=/{0,2}(?:[a-z]{2,8}\d?\(|[\w.-]{1,128}(?::\d|/)))",
        rf"{REDACTED}@",
    ),
    # the whole line: cookies and schemes hold spaces and semicolons
    rule(
        "credential header",
        r"""\b((?:proxy-|x-forwarded-)?authorization|(?:set-)?cookie)([ ]?[:=][ ]?+)"""
        r"""(?!\[redacted\](?:$|\n))(?!\\*["'`\[{]|\w["'])[^\n]+""",
        rf"\1\2{REDACTED}",
        re.I,
    ),
    rule(
        "signed request",
        r"\b(AWS4-HMAC-SHA256 |OSS |COS )(?=Credential|[A-Z0-9]{8,64}:)[^\n]+",
        rf"\1{REDACTED}",
    ),
    rule(
        "bearer token",
        START + r"(bearer)( |:|%20|\+)(?!\[redacted\])"
        r"(?!(?:tokens?|auth\w*|scheme|credentials?|of|is|and|or|not|was|missing|required|error|realm|format|header)\b)"
        r"[^\s\"',;<>]+",
        rf"\1\2{REDACTED}",
        re.I,
    ),
    # "Basic plan" is no credential; base64 has digits, padding or capitals
    rule(
        "basic credentials",
        START + r"([Bb]asic) (?=[A-Za-z]{0,128}[\d+/=]|[A-Za-z]{0,128}[a-z][A-Z])[A-Za-z0-9+/]{3,}={0,2}",
        rf"\1 {REDACTED}",
    ),
)

CREDENTIALS_BY_WORD: Final[tuple[Rule, ...]] = (
    # in a sentence only words with letters and digits: not "the password is wrong", "密码为空"
    rule(
        "secret in a sentence",
        r"(\b(?:password|passwd|pwd|passphrase|passcode|secret|token|(?:api|access|secret|license)[ _-]?key)"
        r"(?:(?: (?:for|of)(?: [\w.@-]{1,64}){1,3}?)? (?:is|was|of|to|were|set to|changed to))? "
        r"|(?:密码|密钥|口令|令牌|密碼)(?:是|为|為)?[ ]?)"
        r"(?![\w-]*[:=(])(?=[\x21-\x7e]*[A-Za-z])(?=[\x21-\x7e]*\d)[\x21-\x7e]{6,}" + _ENDS_A_SENTENCE,
        rf"\1{REDACTED}",
        re.I,
    ),
    rule(
        "secret in quotes",
        r"""(\b(?:(?:password|passwd|passphrase|secret|(?:api|access|secret|private)[ _-]?key|credentials?)"""
        r"""(?: is| was| of| to| for \S{1,64} =)?|identified (?:with \w{1,64} )?by|encrypted password) )"""
        r"""\\{0,8}["'`](?!\[redacted\])[^"'`\s]{3,200}["'`]""",
        rf"\1{REDACTED}",
        re.I,
    ),
    rule(
        "secret of a command",
        r"(?<![\w-])(--?[\w-]{0,40}?(?:password|passwd|passphrase|token|secret|key)[ ](?=-{0,2}[^\s-])"
        r"|(?:-u|--user|--proxy-user)[ =]?(?=[\"']?[^\s:\"']{0,64}:\S))"
        r"(?!(?:and|argument|flag|is|must|needs?|option|or|requires?|to|was|for|in|on|of|with)\b)(?!\[redacted\])"
        r"(?:\"[^\"\n]*+\"?|'[^'\n]*+'?|[^\s\"'-][^\s\"']*+)",
        rf"\1{REDACTED}",
        re.I,
    ),
    rule(
        "secret of a short option",
        rf"(\b(?:{_COMMANDS})\b[^\n]{{0,200}}? -(?:[pPaw]|pass)[ =]?)(?!\[redacted\]){_WORD_OR_STRING}",
        rf"\1{REDACTED}",
    ),
    rule(
        "netrc",
        r"(\blogin \S{1,128}\s{1,8}(?:account \S{1,128}\s{1,8})?password\s{1,8})(?!\[redacted\])\S+",
        rf"\1{REDACTED}",
    ),
    rule(
        "pgpass",
        r"(?<![\w.:*-])([\w.*-]{1,253}:(?:\d{2,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:)(?!\[redacted\])[^\s:]+",
        rf"\1{REDACTED}",
    ),
    rule(
        "redis command",
        r"""((?<![\w-])["']?AUTH["']? (?:[a-z]\w{0,63} )?)"""
        r"""(?:["'][^"'\n]{1,200}["']|(?=\S{0,200}\d)[^\s\[]\S{3,})(?: ["'][^"'\n]{1,200}["'])?""",
        rf"\1{REDACTED}",
    ),
    rule(
        "secret of a query",
        r"([?&;](?:key|code|sig|signature|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)"
        r"|hmac|sign|ticket|assertion|samlresponse|code_verifier)=)(?!\[redacted\])[^\s&\"'<>]+",
        rf"\1{REDACTED}",
        re.I,
    ),
)

_UNMISTAKABLE: Final = "|".join(
    (
        r"gh[opsur]_|github_pat_|gl(?:pat|cbt|dt|ft|imt|agent|oas|ptt|rt|soat|ffct)-|GR1348941|xapp-|xox[a-z]-",
        r"AIza|ya29\.|GOCSPX-|1//0|ABSK|LTAI|AKID|hf_|api_org_|gsk_|r8_|npm_|pypi-|pplx-|tvly-|nvapi-|lsv2_",
        r"do[por]_v1_|shp(?:at|ss|ca|pa)_|sq0(?:atp|csp)-|xkeysib-|xsmtpsib-|figd_|lin_api_|ntn_|dapi(?=[0-9a-f])",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.|dt0[a-z]\d\d\.|hv[sbr]\.|AT[AC]TT3|AKCp|cmVmd|sgp_|sntry[sua]_|ph[cx]_",
        r"pcsk_|sbp_|sb_secret_|whsec_|rubygems_|PMAK-|pul-|pscale_(?:tkn|pw|oauth)_|gl(?:sa|c|eat)_|NR(?:AK|II|JS)-",
        r"EZ[AT]K|duffel_|rdme_|CLOJARS_|HRKU-|tgp_v1_|csk-|xai-|fo1_|fm[12][ar]?_|sm_[aps]at_|shippo_|p8e-|pnu_",
        r"FLWSECK|dckr_pat_|tskey-|nfp_|rnd_|key-(?=[0-9a-f]{16})|SK(?=[0-9a-f]{16})|EAA[ACM]|bkua_|cfut_",
        r"v1\.0-(?=[0-9a-f]{8})|pat-(?=\w{2,4}-[0-9a-f])|gpl?at_|apify_api_|lf_[sp]k_|vercel_",
    )
)
"""The prefixes of vendors' keys."""

_MISTAKABLE: Final = r"fw_|sess-|app-|dataset-|re_|ak_|ops_|rpa_|secret_|pat_|jina_"
"""Prefixes that may also begin an ordinary word, so that the remaining text has to look like a key."""

CREDENTIALS_BY_FORM: Final[tuple[Rule, ...]] = (
    rule("openai key", START + r"[srp]k-(?!learn\b)[\w*.…-]*[\w*…]"),
    rule("stripe key", START + r"[srp]k_(?:(?:live|test|prod)_\w+|(?=[A-Za-z_]{0,64}\d)\w{6,})"),
    rule(
        "vendor's key",
        START + rf"(?:{_UNMISTAKABLE})(?=[A-Za-z_=-]{{0,64}}\d)(?:[\w=+~-]|[./](?=\w)){{8,}}",
    ),
    rule(
        "prefixed key",
        START + rf"(?:{_MISTAKABLE})(?=[A-Za-z_=-]{{0,64}}\d)(?=[a-z\d_=-]{{0,64}}[A-Z])[\w=-]{{12,}}",
    ),
    rule(
        "short vendor's key",
        START + r"(?:gh[opsur]_|github_pat_|glpat-|(?:xox[a-z]|xapp)-|(?:AIza|ya29\.)(?=[\w-]{8}))[\w-]{3,}"
        r"|" + START + r"A(?:3T[A-Z0-9]|KIA|SIA|BIA|CCA|ROA|IDA|GPA|NPA)[0-9A-Z]{8,}",
    ),
    rule(
        "key in parts",
        START + r"(?:SG\.[\w-]{16,}\.[\w-]{16,}|pat-\w{2,4}-[\da-f-]{30,}|vault:v\d{1,4}:[\w+/=-]{8,}"
        r"|bce-v3/[^\s\"'，。]{8,}|\d{6,12}:AA[\w-]{20,}|[MNO][\w-]{22,30}\.[\w-]{6}\.[\w-]{20,}"
        r"|\w{14}\.atlasv1\.[\w=-]{16,}|v\d\.(?:local|public)\.[\w-]{16,}|AAAA[\w-]{7}:[\w-]{40,}"
        r"|(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{24,40})",
    ),
    rule("json web token", START + r"eyJ[\w-]{6,}(?:\.[\w-]*){0,4}"),
    rule("masked secret", r"(?<![\w*-])[\w-]*+\*{4,}[\w-]*"),
)

_RUN: Final = r"(?<![A-Za-z0-9])(?<!req_)(?=[A-Za-z]*\d)"
OPAQUE: Final[tuple[Rule, ...]] = (
    rule("opaque mixed token", _RUN + r"(?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z0-9]{24,}+[\w+/=-]*"),
    rule(
        "base64",
        r"(?<![A-Za-z0-9+/])(?=[A-Za-z+/]*\d)(?=[a-z\d+/]*[A-Z])(?=[A-Z\d+/]*[a-z])[A-Za-z0-9+/]{40,}+={0,2}",
    ),
)
"""Rules for long random strings. Request ids (req_...) are kept, because users quote them."""
