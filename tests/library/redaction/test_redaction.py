"""What leaves in an error holds no secret, and what was no secret is still there."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.redaction import REDACTED, SCAN_LIMIT, redact, redact_value

ORDINARY = """\
see /docs for more
version 1.2.3.4 is out
e.g. a@b
The table orders_2024 has 4291 rows.
Use and/or in the filter, or 50% off.
The rate is 3/4 of last year (24/7 support).
请在 2024/05/06 之前提交，联系管理员。
密码错误，请重试。
密码不能为空
令牌已过期，请重新登录
API key is missing
The password is wrong.
The password is too short (8 characters at least).
Your token has expired. Please log in again.
token limit 8192 exceeded
unexpected token 'x' in JSON
Unexpected token < in JSON at position 0
invalid token at line 3
max_tokens must be 4096 or less
primary key constraint on column id
The secret of success
key: value
password must contain 8 characters
Please wait 30 seconds and try again.
Request req_0123456789abcdef0123456789abcdef failed
https://example.com/docs/errors#429
https://example.com/a%20b?x=1%2C2
100%25 sure, 50% done
See section 3.2.1, page 10 (fig. 2)
model gpt-4o-mini-2024-07-18 is not available
text-embedding-3-large
file Report_2024_Q3.xlsx could not be read
Колонка не найдена
Ошибка: Wi-Fi недоступен
Πρόβλημα με το API
日付は2024年です
He said "password" twice
The app-store-version is 12
dataset-sales-2024 is empty
app-server-2 is busy
the token count is 128000tokens
Contact support at https://support.example.com
time 12:30:45, ratio 16:9
C++ and C# and F#
SELECT * FROM t WHERE a = 'b'
row 10 of 100
the api key of the project
access token required
10.5 GB of 16 GB
10.1.2 is the newest version
IPv4 or IPv6
path to success
a/b testing
password reset e-mail sent
-u option is unknown
--key option is missing
Line 3: expected ',' but found '}'
用户名或密码错误
令牌 2048 个已用完
token 4096 limit
Rate limit exceeded — please wait and try again
Request timed out — please check connectivity and try again
Table 'old_stores' unavailable — it may have been removed
Inspection failed — report may be incomplete
配额不足
余额不足
请联系管理员：稍后再试
是/否/取消
Unknown action: fly
1/2 of the rows
and/or
24/7
km/h, N/A, a/b/c
Version 1.2.3.4
12:30
ratio 3:1
meet at noon (12:30)
2024/01/02 03:04:05 and 2024-01-02T03:04:05Z
3.5x faster, 10.5% more
status:429
row:4291
max-tokens:4096
max_tokens must be >= 1
tokens per min (TPM): Limit 30000
prompt_tokens=12
password: required
Invalid API key: please check it
Bearer token is missing
Basic plan
the author: John, the secretary: Jane
primary key: id
use /help or /reset
see https://platform.openai.com/account/api-keys.
react@18.2.0 is deprecated
internal server error
llama3:70b not found
claude-3-5-sonnet-20241022 is overloaded
meta-llama/Llama-3-8B-Instruct-v0 is loading
the id is fc0c9070-5695-405d-afaf-3561d6aabbcc
quote req_0123456789abcdef0123456789abcdef to the support
sk-learn is missing
RESOURCE_EXHAUSTED
1 < 2 and 'quoted' \"text\" (with brackets) [and] {more}
???""".splitlines()

SECRETS = [
    # (text, what must be gone)
    ("Incorrect API key provided: sk-bad********0000.", "sk-bad"),
    ("Incorrect API key provided: sk-bad********0000.", "0000"),
    ("Quota of sk-bad key exhausted, see org-SECRET123", "sk-bad"),
    ("Rate limit reached for gpt-4o in organization org-SECRET123 on tokens per min", "org-SECRET123"),
    ("key sk-proj-AbC_123-xyz.", "AbC"),
    ("keys pk_live_abc, pk_abc123, sk_test_4eC39", "abc"),
    ("keys pk_live_abc, pk_abc123, sk_test_4eC39", "4eC39"),
    ("bad token ghp_abc123DEF", "ghp_"),
    ("bad token xoxb-123-456-abc", "xoxb"),
    ("key AKIAIOSFODNN7EXAMPLE", "AKIA"),
    ("key AIzaSyA-1234567890abcdef", "AIza"),
    ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln rejected", "eyJ"),
    ("digest 0123456789abcdef0123456789abcdef", "0123456789"),
    ("key wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "wJalr"),
    ("key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY+", "wJalr"),
    ("sent Bearer xyz", "xyz"),
    ("sent Basic dXNlcjpwYXNz", "dXNl"),
    ("Authorization: Basic xyz", "xyz"),
    ("Cookie: a=one; b=two", "two"),
    ("password=abc", "abc"),
    ("api_key: foo", "foo"),
    ("DB_PASSWORD => hunter2", "hunter2"),
    ('{"api_key": "two words", "x": 1}', "words"),
    ('{\\"token\\": \\"two words\\"}', "words"),
    ("{'client_secret': 'it\\'s'}", "it"),
    ("password=[redacted]hunter2", "hunter2"),
    ("密码：天机 请重试", "天机"),
    ("https://example.com/x?key=abcd&b=1", "abcd"),
    ("https://bucket.example.com/x?X-Amz-Signature=abcd", "abcd"),
    ("(db=postgres://app:hunter2@10.0.0.5/weather)", "hunter2"),
    ("(db=postgres://app:hunter2@10.0.0.5/weather)", "10.0.0.5"),
    ("(db=postgres://app:hunter2@10.0.0.5/weather)", "weather"),
    ("redis://cache/0 failed", "cache"),
    ("https://user:pw@example.com/x", "example.com"),
    ("http://10.0.0.5:9200/index", "index"),
    ("http://backend:8080/v1", "backend"),
    ("http://api.default.svc.cluster.local/v1", "default"),
    ("http://[fd00::1]:80/v1", "fd00"),
    ("mail bob.smith+x@example.co.uk", "bob"),
    ("请联系admin@example.com。", "admin"),
    *[(f"at {address} now", address) for address in [
        "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "169.254.169.254",
        "10.0.0.7:9200", "::1", "[::1]:8080", "fe80::1", "fd12:3456:789a::1", "localhost", "localhost:3000",
        "db.internal",
        "printer.local:631", "a.b.svc", "a.corp", "a.lan", "a.intra", "db-internal:5432", "db-internal",
        "redis:6379", "web-1:8080", "ip-10-0-0-5",
    ]],
    ('could not translate host name "weatherdb" to address', "weatherdb"),
    ("getaddrinfo ENOTFOUND weatherdb", "weatherdb"),
    ("in /srv/app/x.py now", "srv"),
    ("in /srv/app/x.py, line 3", "3"),
    ("无法打开文件/srv/数据/x.csv，请重试", "数据"),
    ("in C:\\Users\\John Doe\\x.py", "Doe"),
    ("in C:\\\\Users\\\\x.py", "Users"),
    ("on \\\\server\\share\\x", "server"),
    ("in ~/.ssh", "ssh"),
    ("in ./conf/x.cfg and /etc", "etc"),
    ("in src/main.rs:3:4", "main"),
    ('File "/srv/app/x.py", line 3, in run', "run"),
    ("Error: boom\n    at foo (file.js:1:2)", "file.js"),
    ("Error: boom at async load (/a/b.js:1:2)", "load"),
    ("java.lang.Error\n\tat com.x.Y.z(Z.java:10)\n\t... 12 more", "Z.java"),
    ("at A.B.C(String s) in C:\\src\\C.cs:line 3", "A.B.C"),
    ("goroutine 1 [running]:\nmain.main()", "main"),
    ("Oops. Traceback (most recent call last):\n  File \"x\"\nValueError: inner words", "inner words"),
    ("Traceback: /srv/app/x.py line 3 password=abc", "abc"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "abc"),
    ("pass\u200bword=ab\x00c", "c"),
    # a text that was put into JSON as it was: no word begins with the letter of its line ends
    (r"boom\n\tat com.x.Y.run(Z.java:10)\n\tat com.x.Y.main(Z.java:7)", "com.x"),
    (r"panic\n\ngoroutine 1 [running]:\nmain.secret(0x1)", "secret"),
    (r"oops\nTraceback (most recent call last):\n  inner words", "inner"),
    (r"read\n/srv/secret/x", "srv"),
    (r"key:\nsk-bad1", "bad1"),
    (r"key:\tghp_bad", "bad"),
    (r"id:\nAKIABADBADBAD", "BAD"),
    (r"header:\nBearer bad", "bad"),
    (r"token:\neyJhbGciOi.eyJzdWIi", "eyJ"),
    (r"host\nfd00:bad::1", "bad"),
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_sentence_passes_unchanged(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_gone(text: str, secret: str) -> None:
    assert secret not in redact(text).replace(REDACTED, "").replace("password", "")


MASKED = [
    "password%3Dhunter2%26x",
    "api_key%3D%22hunter2%22",
    "postgres%3A%2F%2Fapp%3Ahunter2%40db",
    "https://example.com/login?next=%2Fx%3Fpassword%3Dhunter2",
    "postgres:\\/\\/app:hunter2@db\\/x",
    "password\\u003dhunter2",
    "pass\\u200bword=hunter2",
    "\\u5bc6\\u7801\\uff1ahunter2",
    "ｐａｓｓｗｏｒｄ＝hunter2",
    "pаssword=hunter2",
    "密码是hunter2",
    "口令 hunter2，请重试",
    "密钥为 hunter2失败",
    "パスワード: hunter2",
    "passwort=hunter2",
    "mot de passe: hunter2",
    "the password is hunter2",
    "password 'hunter2' was rejected",
    "IDENTIFIED BY 'hunter2'",
    "run with --password hunter2",
    "curl -u admin:hunter2 https://example.com",
    "token hunter2token9 is invalid",
]
"""One secret, written in ways that a rule for its plain form does not see."""

KEYS = [
    "sess-AbCdEf1234567890AbCd",
    "app-AbCdEf1234567890AbCdEf",
    "dataset-AbCdEf1234567890AbCd",
    "fw_3ZAbCdEf1234567890AbCd",
    "figd_AbCdEf1234567890",
    "lin_api_AbCdEf1234567890",
    "pcsk_AbCdEf_1234567890AbCdEf",
    "sntrys_eyJpYXQiOjE2",
    "vault:v1:abcdefABCDEF123456==",
    "bce-v3/ALTAK-AbCdEf123456/0123456789abcdef",
    "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",
    "pat-na1-12345678-1234-1234-1234-123456789abc",
    "alice%40example.com",
    "alice@例子.公司",
    "%2Fsrv%2Fapp%2Fmain.py",
]

ROUND_ABOUT = ["{}", "The request failed: {} (see log)", "请求失败：{}，请重试", '{{"m": "{}"}}', "({})"]


@pytest.mark.parametrize("around", ROUND_ABOUT)
@pytest.mark.parametrize("text", MASKED)
def test_a_masked_secret_is_gone(text: str, around: str) -> None:
    assert "hunter2" not in redact(around.format(text))


@pytest.mark.parametrize("around", ROUND_ABOUT)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_any_vendor_is_gone(key: str, around: str) -> None:
    assert key not in redact(around.format(key))


@pytest.mark.parametrize(
    "piece", ["é", "密码", "\\", "\\u0061", "%41", "a1%3d ", "pа", "--key ", "password ", "SG."]
)
def test_masks_take_no_time_either(piece: str) -> None:
    redact(piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("no such city (db=postgres://app:hunter2@10.0.0.5/weather)", "no such city (db=[redacted])"),
        ("connection to db-internal:5432 failed", "connection to [redacted] failed"),
        ("worker at 10.1.2.3 fell over (org-SECRET123)", "worker at [redacted] fell over ([redacted])"),
        ('{"password": "a b", "user": "bob"}', '{"password": [redacted], "user": "bob"}'),
        ("无法打开文件/srv/app/x.py，请重试", "无法打开文件[redacted]，请重试"),
        ("Oops.\nTraceback (most recent call last):\n  x", "Oops.\n[redacted]"),
        ("/srv/app/x.py: 10.0.0.1, sk-abcdef", "[redacted]"),
        ("a \x1b[31mred\x1b[0m\x07 word\u202e", "a red word"),
        ("one  two\t\tthree\r\n\r\n four ", "one two three\nfour"),
        ("half \ud83d a character", "half \ufffd a character"),
        ("", ""),
        (" \n\t", ""),
    ],
)  # fmt: skip
def test_the_rest_of_the_sentence_stays_readable(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    ("limit", "clean"), [(8, "one two…"), (11, "one two th…"), (1, "…"), (0, ""), (-1, "")]
)
def test_the_length_is_limited(limit: int, clean: str) -> None:
    assert redact("one two three", limit=limit) == clean


def test_half_a_secret_at_the_edge_of_what_is_looked_at_does_not_stay() -> None:
    filler = "word " * ((SCAN_LIMIT - 10) // 5)
    text = filler + "x" * (SCAN_LIMIT - 6 - len(filler)) + " sk-proj-AbCd1234"
    assert "sk-" not in redact(text, limit=2 * SCAN_LIMIT)


PIECES = [
    *"aA1/\\.:@-_*?&=\"'([{< \n\x00\ud800密",
    "password=", "sk-", "at a (", "http://", "http://a@", "postgres://", "[redacted]", "10.", "fd00:",
    "Traceback:",
    "-----BEGIN A-----", "eyJ", "Bearer ", "Basic ", "Cookie: ", "C:\\", "/srv/", "~/", ".py:1", "::1",
    "db-internal:",
    ".internal", "a@a.", "token", "secret_", "\\\"", "File \"", "密码:", "host='", "at a.b(c) in ",
]  # fmt: skip
hostile_text = st.one_of(
    st.text(st.characters(categories=None)),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.lists(st.sampled_from([*SECRETS, *((text, "") for text in ORDINARY)]), max_size=5).map(
        lambda cases: " ".join(text for text, _ in cases)
    ),
)


@given(hostile_text, st.integers(0, 200))
def test_any_text_is_redacted_once_and_for_all_within_the_limit(text: str, limit: int) -> None:
    clean = redact(text, limit=limit)
    assert len(clean) <= limit
    assert redact(clean, limit=limit) == clean
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", clean)


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("end", ["", "!", "@", ":", "\n"])
def test_a_megabyte_of_anything_takes_no_time(piece: str, end: str) -> None:
    text = (piece * (2**20 // len(piece)))[: 2**20]
    redact(text + end)
    redact(text[: SCAN_LIMIT - 1] + end)


def test_a_value_is_redacted_in_every_string_and_by_its_keys() -> None:
    value = {
        "message": "no host 10.0.0.5",
        "apiKey": "abc",
        "X-Api-Key": ["abc"],
        "accessToken": {"a": 1},
        "Set-Cookie": None,
        "TOKEN ": "abc",
        "prompt_tokens": 12,
        "rows": [1, 2.5, True, None, "at /srv/app/x.py", ("a", b"raw")],
        "/srv/app/x.py": object(),
    }
    assert redact_value(value) == {
        "message": "no host [redacted]",
        "apiKey": REDACTED,
        "X-Api-Key": REDACTED,
        "accessToken": REDACTED,
        "Set-Cookie": REDACTED,
        "TOKEN": REDACTED,
        "prompt_tokens": 12,
        "rows": [1, 2.5, True, None, "at [redacted]", ["a", REDACTED]],
        REDACTED: REDACTED,
    }


def test_a_value_is_bounded_in_depth_and_size() -> None:
    ring: list[object] = []
    ring.append(ring)
    assert REDACTED in json.dumps(redact_value(ring))
    assert len(json.dumps(redact_value([["x"] * 1000] * 1000))) < SCAN_LIMIT
    assert len(json.dumps(redact_value(["word " * SCAN_LIMIT] * 1000))) < SCAN_LIMIT


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | hostile_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile_text, inner, max_size=4),
    max_leaves=8,
)


@given(json_values)
def test_any_value_is_copied(value: object) -> None:
    clean = redact_value(value, limit=80)
    assert redact_value(clean, limit=80) == clean
