"""A body that names a deciding key twice is refused, however the key is spelled."""

import json
import random
import time

import pytest

import streamweir
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import body_of_query, parse_body
from streamweir.requests.repeated_keys import DECIDING_KEYS, repeated_key

PLACES = (
    '{{{first},"messages":[],{second}}}',
    "{{{first},{second}}}",
    '{{"a":{{}},{first} , {second}, "b":1}}',
)


def spellings(name: str) -> list[str]:
    """A name as JSON may have it: plain, or with characters as escapes."""
    escaped = "".join(f"\\u{ord(character):04X}" for character in name)
    return [name, escaped, escaped.lower(), name[0] + escaped[6:], escaped[:6] + name[1:]]


@pytest.mark.parametrize("name", DECIDING_KEYS)
def test_parse_body_with_a_deciding_key_twice_names_it(name: str) -> None:
    for first in spellings(name):
        for second in spellings(name):
            for place in PLACES:
                body = place.format(first=f'"{first}":true', second=f'"{second}" : "x"')
                with pytest.raises(RequestError) as caught:
                    parse_body(body)
                assert (caught.value.status, caught.value.field) == (400, name), body
                with pytest.raises(RequestError):
                    streamweir.read_request(body, protocol="openai-chat")


def test_parse_body_accepts_the_same_names_elsewhere() -> None:
    message = {"role": "user", "content": '"model":1,"model":2', "model": "inner", "stream": True}
    body = {"model": "m", "stream": True, "messages": [message], "x": {"stream": 1, "model": "n"}}
    for text in (json.dumps(body), json.dumps(body, ensure_ascii=False), json.dumps(body, indent=1)):
        assert parse_body(text) == body
    twice_within = '{"model": "m", "x": {"model": 1, "model": 2}, "y": [{"stream": 1, "stream": 2}]}'
    assert parse_body(twice_within)["model"] == "m"
    assert parse_body('{"temperature": 1, "temperature": 2}') == {"temperature": 2}


def test_query_with_a_deciding_key_twice_is_refused() -> None:
    for name in DECIDING_KEYS:
        with pytest.raises(RequestError):
            body_of_query(f"{name}=true&x=1&{name}=false")
    assert body_of_query("x=1&x=2&stream=true") == {"x": "2", "stream": True}


def test_repeated_key_agrees_with_a_parser_that_keeps_all_pairs() -> None:
    chance = random.Random(7)
    keys = [
        *DECIDING_KEYS,
        "a",
        "messages",
        *(spelled for name in DECIDING_KEYS for spelled in spellings(name)),
    ]
    values = ["1", "true", '"model"', '{"model":1,"model":2}', '[{"stream":1}]', '"\\"stream\\":1"', "null"]
    for _ in range(2000):
        pairs = [(chance.choice(keys), chance.choice(values)) for _ in range(chance.randrange(6))]
        body = "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
        names = [json.loads(f'"{name}"') for name, _ in pairs]
        expected = {name for name in DECIDING_KEYS if names.count(name) > 1}
        found = repeated_key(body.encode())
        assert (found in expected) if expected else found is None, body


def test_repeated_key_is_linear_in_the_body() -> None:
    def cost(count: int) -> float:
        body = ('{"model":1,"m":{"model":2},' + ",".join(f'"a{n}":{{}}' for n in range(count)) + "}").encode()
        began = time.process_time()
        assert repeated_key(body) is None
        return time.process_time() - began

    few, many = min(cost(20_000) for _ in range(3)), min(cost(200_000) for _ in range(3))
    assert many < 25 * few + 0.05
