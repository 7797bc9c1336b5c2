"""Secrets that bodies hold beside or below their names, and texts about secrets."""

import json
import time

import pytest

from streamweir.capture import CutBodyMask, SecretMask

MULTIPART = (
    '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter two\r\n'
    '--b\r\nContent-Disposition: form-data; name="api_key"\r\nContent-Type: text/plain\r\n\r\nabcd1234\r\n'
    '--b\r\nContent-Disposition: form-data; name="message"\r\n\r\nhello 12345678\r\n--b--\r\n'
)
BESIDE = [
    ('{"name":"api_key","value":"Abcd1234"}', "Abcd1234"),
    ('{"key":"password","value":"correct horse"}', "correct horse"),
    ('{"value": "Abcd1234", "name": "api_key"}', "Abcd1234"),
    ('{"name": "Authorization", "in": "header", "on": true, "value": "Token Abcd1234"}', "Abcd1234"),
    (r'"{\"name\":\"api_key\",\"value\":\"Abcd1234\"}"', "Abcd1234"),
    ('[["authorization","Digest Abcd1234"],["x-a","b"]]', "Abcd1234"),
    ('[["x", "y"], ["x-api-key", "Abcd1234"]]', "Abcd1234"),
    ("[(b'x-api-key', b'Abcd1234')]", "Abcd1234"),
    ('{"password": {"value": "correct horse"}}', "correct horse"),
    ('{"api_key": {"in": "vault", "value": "Abcd1234"}}', "Abcd1234"),
    ("<password>hunter two</password>", "hunter two"),
    ('<wsse:Password Type="x">hunter2</wsse:Password>', "hunter2"),
    ("<token><![CDATA[Abcd1234]]></token>", "Abcd1234"),
    (r'{"xml":"<password>hunter2<\/password>"}', "hunter2"),
    ("password: correct horse 7battery", "correct horse 7battery"),
    (r'{"text":"user: bob\npassword: hunter2 tea pot\nhost: x"}', "hunter2 tea pot"),
    ('password="my dog Rex"', "my dog Rex"),
    (r'{"text":"password=\"my dog Rex\""}', "my dog Rex"),
    ("passphrase: 'correct horse'", "correct horse"),
    ("password: hunter2 is wrong", "hunter2"),
]


@pytest.mark.parametrize(("text", "secret"), BESIDE)
def test_value_beside_the_name_of_a_secret_is_masked(text: str, secret: str) -> None:
    assert SecretMask().apply(text) == (text.replace(secret, "*" * len(secret)), 1)


def test_fields_of_a_form_in_parts_are_masked_by_their_names() -> None:
    masked = MULTIPART.replace("hunter two", "*" * 10).replace("abcd1234", "*" * 8)
    assert SecretMask().apply(MULTIPART) == (masked, 2)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"password": 123456, "a": 1}', '{"password": 999999, "a": 1}'),
        ('[{"otp":123456}]', '[{"otp":999999}]'),
        ('{"id": 4401234567, "at": [4401234567]}', '{"id": 9999999999, "at": [9999999999]}'),
        ("data: 4401234567\n\n", "data: **********\n\n"),
        ('{"text":"4401234567"}', '{"text":"**********"}'),
    ],
)
def test_secret_that_is_a_json_number_stays_one(text: str, masked: str) -> None:
    assert SecretMask(["4401234567"]).apply(text)[0] == masked


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"password","type":"string","description":"The password of the user, 8 characters"}',
        '{"properties":{"password":{"type":"string","description":"At least 8 characters"}}}',
        '{"type":"object","required":["password","username2"],"anyOf":[["password"],["api_key"]]}',
        '{"type":"token","token":1234,"value":"There are 123 cats"}',
        '{"max_tokens":4096,"token_count":123456,"pass":1234,"tokens":12345,"token":98765}',
        '{"key":"color","value":"red12345"}',
        '{"name":"max_tokens","value":"12345678"}',
        '{"name":"token","value":"Hello"}',
        '{"secret_santa":{"note":"Bob takes 2 gifts"}}',
        "Put <password> in the field </b>, then <b>token</b>",
        '{"a":"<password>","b":"</password>"}',
        "Password: at least 8 characters",
        "Password: your 1Password vault",
        "Secret: always use fresh butter",
        '{"text":"The password: it must have 8 signs"}',
        '{"a":"x password=", "b":"y password: ", "c":12345, "d":"e"}',
        '{"type":"token","content":"the value of a token"}',
    ],
)
def test_text_about_secrets_is_shown(text: str) -> None:
    assert SecretMask().apply(text) == (text, 0)


@pytest.mark.parametrize(
    "piece",
    ["=token", "password:", 'form-data; name="password"\r\n\r\n', '{"password":{"value":"', "password='x "],
)
def test_masking_of_names_alone_takes_time_in_proportion_to_the_text(piece: str) -> None:
    took = []
    for length in (20_000, 80_000):
        start = time.thread_time()
        SecretMask().spans((piece * length)[:length])
        took.append(time.thread_time() - start)
    assert took[1] < 9 * took[0] + 0.1


PRINTED = [
    json.dumps({"name": "api_key", "value": "Abcd1234efgh"}, indent=2),
    json.dumps([["x-api-key", "Abcd1234efgh"]], indent=1),
    json.dumps({"api_keys": ["Abcd1234efgh", "Zbcd1234efgh"]}, indent=2),
    json.dumps({"password": {"value": "correct horse"}}, indent=1),
    '{\n  "password":\n    "correct horse"\n}',
    "<password>\n  correct horse\n</password>",
]


@pytest.mark.parametrize("text", PRINTED)
def test_value_in_another_line_than_its_name_is_masked_wherever_it_is_cut(text: str) -> None:
    whole, count = SecretMask().apply(text)
    assert count
    for place in range(1, len(text)):
        mask = CutBodyMask(SecretMask())
        reads = [*mask.feed(text[:place].encode()), *mask.feed(text[place:].encode()), *mask.finish()]
        assert b"".join(read.data for read in reads).decode() == whole
        assert sum(read.redacted for read in reads) == count
