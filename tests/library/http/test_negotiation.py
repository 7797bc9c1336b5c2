"""Framing by `Accept`, protocol by header or query, headers and refusals."""

import pytest

from streamweir.http.headers import header_value, request_id_of, stream_headers
from streamweir.http.negotiation import UnknownProtocolError, choose_framing, choose_protocol
from streamweir.http.refusals import Refusal, refusal_parts
from streamweir.refusal_codes import REFUSALS


@pytest.mark.parametrize(
    ("accept", "framing"),
    [
        ("", "default"),
        ("*/*", "default"),
        ("text/html, image/png", "default"),
        ("text/*", "default"),
        ("text/event-stream", "sse"),
        ("TEXT/Event-Stream; charset=utf-8", "sse"),
        ("application/x-ndjson", "ndjson"),
        ("text/event-stream, application/x-ndjson", "default"),
        ("text/event-stream;q=0.5, application/x-ndjson", "ndjson"),
        ("text/event-stream;q=0.9, application/x-ndjson;q=0.8", "sse"),
        ("application/x-ndjson;q=0.1, */*", "ndjson"),
        ("text/event-stream, */*", "sse"),
        ("application/json", "json"),
        ("application/json, text/html", "json"),
        ("application/json;q=0", "default"),
        ("application/json, */*", "default"),
        ("application/json, */*;q=0.1", "default"),
        ("application/json, */*;q=0", "json"),
        ("application/json, text/event-stream", "sse"),
        ("application/json, text/event-stream;q=0.1", "sse"),
        ("application/json, text/event-stream;q=0", "json"),
        ("application/x-ndjson;q=0, text/event-stream;q=0", "default"),
        ("text/event-stream;q=broken", "sse"),
        (",, ;q=1,", "default"),
    ],
)
@pytest.mark.parametrize("default", ["sse", "ndjson"])
def test_choose_framing_returns_the_best_accepted_framing(accept: str, framing: str, default: str) -> None:
    assert choose_framing(accept, default) == (default if framing == "default" else framing)  # type: ignore[arg-type]


def test_choose_framing_with_a_refused_default_returns_the_other_framing() -> None:
    assert choose_framing("text/event-stream;q=0, */*", "sse") == "ndjson"


ANSWERS = ("standard", "legacy")


@pytest.mark.parametrize(
    ("headers", "query", "chosen"),
    [
        ([], b"", "standard"),
        ([b"legacy"], b"", "legacy"),
        ([b" legacy "], b"", "legacy"),
        ([b"legacy"], b"protocol=standard", "legacy"),
        ([], b"protocol=legacy", "legacy"),
        ([], b"a=1&protocol=%6cegacy&b", "legacy"),
        ([], b"protocol=http&protocol=legacy", "legacy"),
        ([], b"protocol=http", "standard"),
        ([], b"protocol=", "standard"),
        ([], b"\xff=%ff&protocol", "standard"),
    ],
)
def test_choose_protocol_prefers_header_over_query(headers: list[bytes], query: bytes, chosen: str) -> None:
    named = [(b"x-streamweir-protocol", value) for value in headers]
    assert choose_protocol(named, query, ANSWERS) == chosen


@pytest.mark.parametrize("values", [[b"other"], [b""], [b"Legacy"], [b"legacy", b"standard"], [b"\xff"]])
def test_choose_protocol_with_a_foreign_header_raises(values: list[bytes]) -> None:
    with pytest.raises(UnknownProtocolError):
        choose_protocol([(b"x-streamweir-protocol", value) for value in values], b"", ANSWERS)


def test_header_value_joins_the_lines_of_a_list_header() -> None:
    headers = [(b"accept", b"text/html"), (b"host", b"x"), (b"accept", b"text/event-stream")]
    assert header_value(headers, b"accept") == "text/html, text/event-stream"


def test_request_id_of_keeps_only_a_single_valid_id() -> None:
    assert request_id_of([(b"x-request-id", b"a-1")]) == "a-1"
    for values in ([], [b"a", b"a"], [b"a b"], [b"x" * 129]):
        assert request_id_of([(b"x-request-id", value) for value in values]).startswith("req_")


def test_stream_headers_are_followed_by_other_headers() -> None:
    headers = stream_headers("text/event-stream", "r1", [(b"x-cost", b"3")])
    assert headers[-1] == (b"x-cost", b"3")
    assert (b"content-encoding", b"identity") in headers


@pytest.mark.parametrize("code", REFUSALS)
def test_refusal_parts_of_every_code_are_one_envelope(code: str) -> None:
    refused = Refusal(code, headers={"X-Extra": "1"})
    status, body, headers = refusal_parts(refused, request_id="r1")
    assert status == REFUSALS[code].status
    assert (headers["X-Request-Id"], headers["X-Extra"]) == ("r1", "1")
    assert (body["error"]["code"], body["request_id"]) == (code, "r1")
