"""A folded answer over its limit ends at the same event, however the stream is cut."""

import json

import pytest

from streamweir import Translator


@pytest.mark.parametrize("text", ["seven b", "\u00e9\x01", "\u54c8"])
def test_limit_of_a_folded_answer_does_not_depend_on_the_cuts(text: str) -> None:
    body = b"data: %b\n\n" % json.dumps({"type": "token", "content": text}).encode() * 300
    for stream_bytes in range(1500, 9000, 500):
        answers = set()
        for size in (1, 7, 100, len(body)):
            translator = Translator(
                speaks="legacy",
                framing="json",
                limits={"stream_bytes": stream_bytes},
                request_id="r",
                session_id="s",
                clock=lambda: 1,
            )
            pieces = [translator.feed(body[at : at + size]) for at in range(0, len(body), size)]
            answers.add(b"".join([*pieces, translator.close()]))
            assert translator.reason == "limit"
        assert len(answers) == 1
