"""Recognises names of secrets by the words in them, because a list of names is never complete."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from streamweir.lazy_pattern import LazyPattern

__all__ = ["NAME", "is_secret_header", "is_secret_name"]

_LONGEST_NAME: Final = 128
_FLAGS: Final = re.ASCII | re.IGNORECASE

_HUMP: Final = LazyPattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_LETTER: Final = LazyPattern(r"[^a-z0-9]+")

_KINDS_OF_KEY: Final = (
    r"api|apis|access|account|admin|app|application|auth|authorization|client|consumer|customer|decryption"
    r"|deploy|encryption|functions?|hmac|host|ingest|instrumentation|integration|jwt|license|management|master"
    r"|merchant|private|project|publishable|secret|security|send|server|service|session|shared|signing|ssh|ssl"
    r"|storage|subscription|symmetric|tls|webhook|write|aes|des|rsa|aws|azure|openai|anthropic|claude|gemini"
    r"|google|cohere|mistral|groq|deepseek|dashscope|qwen|zhipu|moonshot|stripe|sendgrid|mailgun|twilio|datadog"
    r"|algolia|pinecone|openrouter|together|replicate|huggingface|hf|tavily|serper|serpapi|langsmith|llm|model"
)
_SECRET: Final = LazyPattern(
    r"(?:pass(?:word|wd|phrase|code|wort)s?|passwd|pwd|kennwort|senha|contrasen[yi]?a|secrets?|credentials?"
    r"|authorization|cookies?|connection_?string|conn_?str|api_?token|apikeys?|private_?key|webhook_?url"
    r"|access_?token|jsessionid|phpsessid|laravel_session|connect_sid|client_?assertion)(?![a-z])"
    rf"|(?:^|_|(?<=[a-z]))token(?![a-z])|(?:^|_)(?:{_KINDS_OF_KEY})_?keys?(?![a-z])"
    r"|(?:^|_)(?:pass|pw|psk|jwt|otp|totp|sid|auth|creds?|hmac|sas|dsn|bearer)(?:_?\d{1,4})?$"
    r"|(?:^|_)sig(?:nature)?$"
)
_SESSION_COOKIE: Final = LazyPattern(
    r"(?:php|j|asp|cf|ws)?sess(?:ion)?id(?!s)[a-z]{0,12}|sess_id|asp_?net_?session_?id|connect_?sid"
    r"|(?:ci|laravel|symfony|flask|play)_session|beaker_session_id|(?:ssr|auth|remember)_(?:session|me)"
    r"|wordpress_logged_in_\w{1,64}|cfid|cftoken",
)
"""Matches the usual names of session cookies. `session_id` is not among them, as the protocol uses it."""

_ABOUT: Final = LazyPattern(
    r"_(?:ids?|names?|urls?|uri|endpoint|host|port|count|counts|length|len|limits?|size|types?|files?|path|dir"
    r"|expir(?:es|ed|y|ation)(?:_(?:in|at|on))?|ttl|usage|used|budget|fields?|policy|required|errors?"
    r"|status|state|reset|min|max|at|created|updated|version|format|label|prefix|index|position|window|invalid"
    r"|valid|missing|provider|manager|service|scopes?|algorithm|method|strategy|enabled|disabled|hint|rules?"
    r"|strength|per_\w{1,32}|logprobs?|probs?|cost|price|rate|overlap|estimate|total)$"
)
"""Matches last words of names that describe a secret but do not hold one."""

_OTHER_TOKEN: Final = LazyPattern(
    r"^(?:the_)?(?:un)?(?:expected|known|recognized|supported|matched|terminated)_(?:\w{1,16}_)?token$"
    r"|^(?:next|previous|current|first|last|stop|start|special|illegal|bad|end|eos|bos|pad|unk|sep|cls|mask|per"
    r"|page|sync|continuation|cancellation|syntax|input|output|max|min|begin)_(?:page_)?token$"
)
"""Matches words for tokens of parsers, models and pages, which are not secrets."""

_PUBLIC_KEY: Final = LazyPattern(
    r"(?:^|_)(?:primary|foreign|public|pub|partition|sort|cache|bucket|object|index|row|column|shard|group|range"
    r"|hash|unique|duplicate|unknown|invalid|missing|no|the|any)_key$"
)

_FOREIGN: Final = (
    *(
        "密码",
        "密钥",
        "口令",
        "令牌",
        "凭证",
        "密碼",
        "密鑰",
        "權杖",
        "パスワード",
        "トークン",
        "秘密鍵",
        "비밀번호",
        "토큰",
    ),
    *("пароль", "токен", "ключ доступа", "كلمة المرور", "סיסמה", "contraseña", "lösenord"),
    *("hasło", "heslo", "şifre"),
    *("parola", "wachtwoord", "adgangskode", "mật khẩu", "mot de passe"),
)
_FOREIGN_NAME: Final = LazyPattern("|".join(_FOREIGN))
_CORE: Final = (
    r"pass|pwd|secret|token|credential|creds|cookie|authorization|auth|conn|key|kennwort|senha|contrase|jwt|otp"
    r"|psk|sid|sess|cfid|cftoken|wordpress_logged|remember_me|sig|sas|dsn|pw|bearer|hmac|webhook|jsessionid|client.?assertion"
)
"""Matches a part that every name of a secret contains."""

NAME: Final = LazyPattern(
    rf"{'|'.join(_FOREIGN)}"
    rf"|(?<![\w.$@-])(?>[\w.$@-]*?(?:{_CORE}))[\w.$@-]*+"
    r"(?:[ ](?:key|token|secret|string|phrase|code|password|value)\b)?(?:[ ]provided\b)?"
    r"|(?:api|access|account|auth|client|connection|encryption|private|secret|service|signing|subscription"
    r"|security|storage|license|master|verification)[ ](?:key|token|secret|string|phrase|code)\b"
    r"(?:[ ]provided\b)?",
    _FLAGS,
)
"""Matches candidates for names of secrets, about which `is_secret_name` decides."""

_HEADER: Final = LazyPattern(r"auth|key|token|secret|password|cookie|credential|session", re.IGNORECASE)
_COUNTED_TOKENS: Final = LazyPattern(
    r"tokens?(?=-(?:count|limit|remaining|reset|usage|used))"
    r"|(?<![a-z])(?:completion|count|input|limit|output|prompt|remaining|reset|total|usage|used)-tokens",
    re.IGNORECASE,
)
"""Matches parts of headers that tell numbers of tokens, such as `X-RateLimit-Remaining-Tokens`."""


def is_secret_header(name: str) -> bool:
    """Return whether the value of a header with this name is a credential."""
    return _is_secret_header(name) if len(name) <= _LONGEST_NAME else _has_secret_word(name)


@lru_cache(maxsize=512)
def _is_secret_header(name: str) -> bool:
    return _has_secret_word(name)


def _has_secret_word(name: str) -> bool:
    return _HEADER.search(_COUNTED_TOKENS.sub("", name)) is not None or is_secret_name(name)


def is_secret_name(name: str) -> bool:
    """Return whether the value of an object's key with this name is a secret, whatever form the value has."""
    name = name[-_LONGEST_NAME:].removesuffix(" provided").removesuffix(" value")
    if _FOREIGN_NAME.search(name.lower()):
        return True
    words = _NO_LETTER.sub("_", _HUMP.sub("_", name).lower()).strip("_")
    if _SESSION_COOKIE.fullmatch(words) or name.startswith("_session_id"):
        return True
    if _SECRET.search(words):
        return not (_ABOUT.search(words) or _OTHER_TOKEN.search(words))
    is_environment_variable = name.isupper() and words.endswith("_key")
    return is_environment_variable and not _PUBLIC_KEY.search(words)
