"""The sample request of every dialect has a place for the message."""

import msgspec
import pytest

from loopback import settled
from streamweir.codec.dialects import Dialects
from streamweir_gateway.sample_call import sample_body
from streamweir_gateway.sample_requests import JUST_A_MESSAGE, sample_of

BUILT_IN = Dialects.built_in()


@pytest.mark.parametrize("name", [JUST_A_MESSAGE, *BUILT_IN])
def test_sample_request_of_a_dialect_has_a_place_for_the_message(name: str) -> None:
    sample = sample_of(name, BUILT_IN)
    value: object = sample.body
    for key in sample.place:
        value = value[key]  # type: ignore[index]  # keys and indices of JSON
    assert sample.place
    assert msgspec.json.decode(msgspec.json.encode(sample.body)) == sample.body
    assert isinstance(value, str)


def test_sample_body_of_a_mapped_endpoint_is_in_the_protocol_of_the_client() -> None:
    mapped = {"upstream": "demo:ragflow", "speaks": "ragflow", "request": "mapped", "answers": ["anthropic"]}
    (endpoint,) = settled(endpoints={"/chat": mapped}).endpoints
    assert {"max_tokens", "messages"} <= sample_body(endpoint, BUILT_IN).keys()
