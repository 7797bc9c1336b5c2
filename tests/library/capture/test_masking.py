"""Secrets in recorded bodies: found however the network cut them, replaced byte by byte."""

import itertools
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamweir.capture import CutBodyMask, SecretMask, masking
from streamweir.capture.assigned_values import assigned_values
from streamweir.capture.masking import SHORTEST
from streamweir.capture.named_fields import named_fields
from streamweir.capture.named_values import named_values
from streamweir.capture.nested_values import nested_values
from streamweir.capture.request_secrets import secrets_in
from streamweir.capture.writing import recorded_headers

KNOWN = "s3cret-of-ours-ü"
FORMS = ("sk-abcdef1234567890", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "Bearer abc.def-123456")
HARMLESS = "The tokens are gone; see https://example.com/keys?x=1 and req_0123456789abcdef."

piece_ends = st.lists(st.integers(0, 400), max_size=8)


def body(*texts: str) -> bytes:
    return b"".join(b"data: " + json.dumps({"text": text}).encode() + b"\n\n" for text in texts)


def cut(data: bytes, ends: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(end for end in ends if end < len(data))})
    return [data[start:end] for start, end in itertools.pairwise(places)]


@given(ends=piece_ends)
def test_secret_is_found_wherever_it_is_cut(ends: list[int]) -> None:
    whole = body(f"a {KNOWN} b", *(f"with {form} in it" for form in FORMS), HARMLESS)
    mask = CutBodyMask(SecretMask([KNOWN]))
    pieces = cut(whole, ends)
    reads = [read for piece in pieces for read in mask.feed(piece)] + mask.finish()
    joined = b"".join(read.data for read in reads)
    assert [len(read.data) for read in reads] == [len(piece) for piece in pieces]
    assert [read.n for read in reads] == [*range(len(pieces))]
    assert joined == b"".join(read.data for read in [*CutBodyMask(SecretMask([KNOWN])).feed(whole)])
    assert sum(read.redacted for read in reads) == 1 + len(FORMS)
    for secret in (KNOWN, "abcdef1234567890", "16C7e42F292c6912E7710c838347Ae178B4a", "abc.def-123456"):
        assert json.dumps(secret)[1:-1].encode() not in joined
    texts = [json.loads(line[6:])["text"] for line in joined.splitlines() if line]
    assert texts[-1] == HARMLESS
    assert texts[1] == "with " + "*" * len(FORMS[0]) + " in it"


def escaped_by(letters: str, depth: int, secret: str) -> str:
    r"""Return `secret` with each of `letters` as `\\uXXXX`, within `depth` JSON texts."""
    escape = "\\" * 2**depth
    return "".join(f"{escape}u{ord(one):04X}" if one in letters else one for one in secret)


ESCAPED: dict[str, Callable[[str], str]] = {
    "every letter": lambda secret: escaped_by(secret, 0, secret),
    "every letter, in a JSON text": lambda secret: escaped_by(secret, 1, secret),
    ".NET": lambda secret: escaped_by("+<>&'`", 0, secret),
    "small hexadecimal digits": lambda secret: escaped_by(secret, 0, secret).lower(),
    "PHP": lambda secret: secret.replace("/", "\\/"),
    "PHP, in a JSON text": lambda secret: secret.replace("/", "\\\\/"),
    "a URL": lambda secret: quote(secret, safe=""),
    "the path of a URL": quote,
    "a form": quote_plus,
}


@pytest.mark.parametrize("form", ESCAPED)
@pytest.mark.parametrize("secret", ["own/s3cret+of==ours", "sk-abcdef1234567890abcd"])
@given(ends=piece_ends)
def test_escaped_secret_is_masked_wherever_it_is_cut(form: str, secret: str, ends: list[int]) -> None:
    escaped = ESCAPED[form](secret)
    whole = b'data: {"text": "caf\\u00e9 \\/ ' + escaped.encode() + b' \\u003c end"}\n\n'
    mask = CutBodyMask(SecretMask(["own/s3cret+of==ours"]))
    reads = [read for piece in cut(whole, ends) for read in mask.feed(piece)] + mask.finish()
    joined = b"".join(read.data for read in reads)
    assert joined == whole.replace(escaped.encode(), b"*" * len(escaped))
    assert sum(read.redacted for read in reads) == 1


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize(
    "secret", ['own"s3cret-of-ours', "own\\s3cret-of-ours", "own-s3cret-of-ours-ü", "own\ts3cret"]
)
@given(ends=piece_ends)
def test_secret_in_arguments_of_a_tool_is_masked_wherever_it_is_cut(
    secret: str, ensure_ascii: bool, ends: list[int]
) -> None:
    arguments = json.dumps({"key": secret}, ensure_ascii=ensure_ascii)
    whole = json.dumps({"delta": arguments}, ensure_ascii=ensure_ascii).encode()
    mask = CutBodyMask(SecretMask([secret]))
    reads = [read for piece in cut(whole, ends) for read in mask.feed(piece)] + mask.finish()
    shown = json.loads(b"".join(read.data for read in reads))["delta"]
    assert set(json.loads(shown)["key"]) == {"*"}
    assert sum(read.redacted for read in reads) == 1


@given(end=st.integers(0, 200))
def test_escaped_beginning_of_a_secret_is_masked_when_it_is_released(end: int) -> None:
    whole = b'{"text": "' + escaped_by("s3cret-of-ours", 0, "s3cret-of-ours").encode()
    mask = CutBodyMask(SecretMask(["s3cret-of-ours"]))
    joined = b"".join(read.data for read in mask.feed(whole[:end]) + mask.release())
    shown = json.loads(joined.decode().rpartition("\\")[0] + '"}') if b"\\" in joined else None
    assert shown is None or len(shown["text"]) < SHORTEST


def test_value_under_the_name_of_a_secret_is_masked_if_it_is_long() -> None:
    mask = SecretMask()
    assert mask.apply('{"api_key": "hunter2222", "token": "Hel"}') == (
        '{"api_key": "**********", "token": "Hel"}',
        1,
    )
    assert mask.apply(r'"{\"password\":\"hunter2222\"}"')[0] == r'"{\"password\":\"**********\"}"'


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("login failed: password=hunter2", "login failed: password=*******"),
        ('{"error":"password: hunter2"}', '{"error":"password: *******"}'),
        ('{"password":"changeme"}', '{"password":"********"}'),
        ("GET /x?a=1&password=hunter2&b=3", "GET /x?a=1&password=*******&b=3"),
        (r'{"log":"secret=\"xyz12\""}', r'{"log":"secret=\"*****\""}'),
        ('{"log":"password: \'hunter2\'"}', '{"log":"password: \'*******\'"}'),
        ("password: required, tokens: 123456, max_tokens=4096", None),
        ('{"type":"token","token":"Hel","content":"a = b"}', None),
    ],
)
def test_value_assigned_to_the_name_of_a_secret_is_masked(text: str, masked: str | None) -> None:
    assert SecretMask().apply(text)[0] == (masked or text)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"password":  "hunter2"}', '{"password":  "*******"}'),
        ('{"password":\n    "hunter2"}', '{"password":\n    "*******"}'),
        ('{"password": "correct horse"}', '{"password": "*************"}'),
        (r'{"password": "ab\"cd", "a": 1}', r'{"password": "******", "a": 1}'),
        (r'{"password": "abcd\\", "a": "b"}', r'{"password": "******", "a": "b"}'),
        (r'{"password": "p\u00e4ss w"}', r'{"password": "***********"}'),
        (r'"{\"password\": \"a b\\\"c d\", \"a\": 1}"', r'"{\"password\": \"**********\", \"a\": 1}"'),
        (r'"{\"password\": \"abcd\\\\\", \"a\": 1}"', r'"{\"password\": \"********\", \"a\": 1}"'),
        ('{"api_keys": ["abcd1234", "no", "efgh5678"]}', '{"api_keys": ["********", "no", "********"]}'),
        ("{'password': 'hunter2', 'a': 'b'}", "{'password': '*******', 'a': 'b'}"),
        ('{"authorization": "Digest abcd 1234"}', '{"authorization": "Digest *********"}'),
        ('{"cookie": "a=bcd; e=f123"}', '{"cookie": "*************"}'),
        ('{"password": "hunter2', '{"password": "*******'),
        ('{"token": "There are 3 cats", "password": {"type": "string"}, "secret": null}', None),
        ('{"token": "abcd1234 and more"}', '{"token": "******** and more"}'),
        ('{"required": ["password"], "keys": ["a1b2c3d4e5"], "authorization": "none"}', None),
    ],
)
def test_value_under_the_name_of_a_secret_is_masked_up_to_its_end(text: str, masked: str | None) -> None:
    assert SecretMask().apply(text)[0] == (masked or text)


@pytest.mark.parametrize("written", ["ab+cd/ef12==", "ab%2bcd%2fef12%3d%3d", "ab%2Bcd/ef12%3D%3D"])
@pytest.mark.parametrize("echo", ["ab+cd/ef12==", "ab%2Bcd%2Fef12%3D%3D", "ab%2bcd%2fef12%3d%3d"])
def test_credential_of_a_query_is_masked_as_it_was_written_and_decoded(written: str, echo: str) -> None:
    found = secrets_in([], f"/chat?q=hello&%73ig={written}&flag")
    shown, count = SecretMask(found).apply(f"The value {echo} is no good")
    assert written in found
    if "%" in written or "%" not in echo:
        assert (shown, count) == (f"The value {'*' * len(echo)} is no good", 1)


def test_known_secret_is_masked_in_json_within_json_within_json() -> None:
    secret = 'a"b\\c7781'
    text = secret
    for _ in range(4):
        assert SecretMask([secret]).apply(f"x {text} y") == (f"x {'*' * len(text)} y", 1)
        text = json.dumps(text)[1:-1]


@pytest.mark.parametrize(
    ("secret", "written"),
    [
        ("schlüssel-77-key", r"schl\u00FCssel-77-key"),
        ("schlüssel-77-key", r"schl\\u00FCssel-77-key"),
        ('pa"ss\\1234', r"pa\u0022ss\\1234"),
    ],
)
def test_known_secret_is_masked_as_a_server_on_net_writes_it(secret: str, written: str) -> None:
    assert SecretMask([secret]).apply(f"x {written} y") == (f"x {'*' * len(written)} y", 1)


@pytest.mark.parametrize("name", ["x-signature", "x-amz-signature", "x-pwd", "x-pass", "x-api-key", "cookie"])
def test_header_with_the_name_of_a_secret_is_a_credential(name: str) -> None:
    assert recorded_headers([(name, "abc-123")], SecretMask()) == [[name, "[redacted]"]]
    assert secrets_in([(name, "s=abc-123")]) & {"abc-123", "s=abc-123"}


@pytest.mark.parametrize(
    "name",
    [
        "x-ratelimit-remaining-tokens",
        "anthropic-ratelimit-input-tokens-limit",
        "anthropic-ratelimit-tokens-reset",
        "x-usage-tokens",
        "x-token-count",
    ],
)
def test_header_that_counts_tokens_is_shown_and_its_value_is_no_secret(name: str) -> None:
    assert recorded_headers([(name, "149984")], SecretMask()) == [[name, "149984"]]
    assert secrets_in([(name, "149984")]) == set()


@pytest.mark.parametrize("name", ["x-auth-tokens", "x-token", "x-access-token-limit-key", "x-tokens"])
def test_header_of_tokens_that_are_not_counted_is_a_credential(name: str) -> None:
    assert recorded_headers([(name, "149984")], SecretMask()) == [[name, "[redacted]"]]


WORDS = (
    *FORMS,
    *("AKIAIOSFODNN7EXAMPLE", "AKIAABCDEFGHIJKL", "eyJhbGciOiJIUzI1NiJ9.e30.x", "xoxb-1234567890-abc"),
    *(
        "https://user:pw12345@host/x",
        "app:pw@db:5432/app",
        "-----BEGIN RSA PRIVATE KEY-----",
        "hf_abcdefgh1jkl",
    ),
    *("sk-a", "pk_live_abc", "AIzaSyA1234567890abcdef", "v1.0-abcdef0123456789", "Basic dXNlcjpwdzEyMw=="),
    *(
        "12345",
        "word",
        "word-word",
        ":17",
        "password",
        "password=",
        "/secret: ",
        " = ",
        "hunter2",
        "token",
        "the",
        '"',
        '":"',
        '":',
        " ",
        "\n",
        "{",
        '"name":',
        ',"value":"',
        "</",
        "<",
        ">",
        '"],["',
        ",",
        "\\",
    ),
)


@given(words=st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map("".join), min_size=1, max_size=4))
def test_signs_find_every_secret_that_the_rules_find(words: list[str]) -> None:
    mask = SecretMask()
    written = [word for word in words if "\\/" not in word]  # escaped texts are searched a second time
    for text in [*written, *written]:  # with and without words that are known
        slow = [
            span
            for rule in (*masking._CONTEXT, *masking._FORMS)
            for match in rule.pattern.finditer(text)
            if (span := masking._hidden(match, rule.replacement)) is not None
        ]
        named = [*named_values(text)]
        named += [*nested_values(text), *named_fields(text), *assigned_values(text)]
        assert mask.spans(text) == masking.joined_spans([*slow, *named])


def test_released_read_hides_the_beginning_of_a_known_secret() -> None:
    mask = CutBodyMask(SecretMask([KNOWN]))
    assert mask.feed(b"the key: s3cret-") == []
    (first,) = mask.release()
    assert first.data == b"the key: *******"
    mask.feed("of-ours-ü and more".encode())
    (rest,) = mask.finish()
    assert rest.data == b"*" * 10 + b" and more"


@given(text=st.text(alphabet='"\\{}:,nsk-_ab1 \n*=@/.\u00ab\u00e9', max_size=120))
@example(text="\n:1@1/")
@example(text="\u00e9:1@1/")
@example(text="\u00ab1ab1")
@example(text="\\n:1@1/")
def test_json_stays_json(text: str) -> None:
    line = json.dumps({"text": text, "more": [text]})
    masked, _ = SecretMask(["ab1ab1", 'k-"ab1']).apply(line)
    assert len(masked) == len(line)
    json.loads(masked)


@pytest.mark.parametrize(
    ("name", "before"), [("x-api-key", ""), ("authorization", "Bearer "), ("cookie", "a=b; sid=")]
)
def test_credential_beyond_ascii_is_masked_in_any_form(name: str, before: str) -> None:
    secret = "schlüssel-鍵-1"
    value = (before + secret).encode().decode("latin-1")  # as a head is recorded
    mask = CutBodyMask(SecretMask(secrets_in([(name, value)])))
    sent = body(secret) + f'data: {{"text": "{secret}"}}\n\n'.encode()
    (read,) = mask.feed(sent)
    texts = [json.loads(line[6:])["text"] for line in read.data.split(b"\n\n") if line]
    assert [text.strip("*") for text in texts] == ["", ""]
    assert read.redacted == 2
