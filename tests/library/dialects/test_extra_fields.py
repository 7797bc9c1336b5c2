"""What an upstream said beyond the standard goes back into its own dialect, and into no other."""

import pytest

from cases import for_each
from streams import Recorded, dialect_of, events_of, recorded_streams, translate
from streamweir.codec.registry import process_dialects
from streamweir.testing import check_stream

PROMPT = b"(instructions)"
TARGETS = [name for name in process_dialects().writable if name != "standard"]
RUNS = [stream for stream in recorded_streams() if stream.path.stem == "07-action-called-as-a-tool"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("speaks", ["data-formulator", "auto"])
@for_each("stream", RUNS, group=dialect_of)
def test_prompt_is_written_only_in_its_own_dialect(stream: Recorded, speaks: str, target: str) -> None:
    written = translate([stream.body], speaks=speaks, answers=target)
    assert (PROMPT in written) == (target == stream.dialect)
    assert (b"output_variable" in written) == (target == stream.dialect)


@for_each("stream", RUNS, group=dialect_of)
def test_standard_has_other_fields_and_with_raw_the_prompt(
    stream: Recorded,
) -> None:
    written = translate([stream.body], speaks=stream.dialect)
    assert PROMPT not in written
    assert any("refined_goal" in event["metadata"].get("extra", {}) for event in events_of(written))
    raw = events_of(translate([stream.body], speaks=stream.dialect, raw=True))
    assert any("(instructions)" in str(event["metadata"].get("source")) for event in raw)
    assert not any("(instructions)" in str(event["metadata"].get("extra")) for event in raw)


@pytest.mark.parametrize("target", TARGETS)
def test_fields_beside_the_standard_stay_there(target: str) -> None:
    extra = b'"metadata":{"extra":{"secret_state":"(instructions)","meta":{"x":"(instructions)"}}}'
    kinds = {
        b"session_start": b"{}",
        b"thinking": b'{"content":"Hm."}',
        b"content": b'{"content":"Hi."}',
        b"tool_call_start": b'{"tool_id":"t","tool_name":"f","arguments":{}}',
        b"tool_call_end": b'{"tool_id":"t","status":"success"}',
        b"data": b'{"data_type":"dataframe","data":{"name":"d","columns":["a"],"rows":[[1]]}}',
        b"status": b'{"scope":"node","state":"started","name":"n"}',
        b"reference": b'{"citations":[{"title":"T"}]}',
        b"interaction": b'{"interaction_id":"i","kind":"approval","state":"requested"}',
        b"session_end": b'{"status":"suspended"}',
    }
    body = b"".join(b'{"type":"%s","data":%s,%s}\n' % (kind, data, extra) for kind, data in kinds.items())
    written = translate([body], speaks="standard", answers=target)
    assert written
    assert PROMPT not in written


FILES = {
    "a2a": '{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"f","parts":'
    '[{"kind":"file","file":{"uri":"https://a.example/b.png","mimeType":"image/png","odd":1}}]}}',
    "dify": '{"event":"message_file","message_id":"m","type":"image","url":"https://a.example/b.png","odd":1}',
    "gemini": '{"candidates":[{"content":{"parts":'
    '[{"inlineData":{"mimeType":"image/png","data":"YWI=","odd":1}}]}}]}',
    "google-adk": '{"invocationId":"e","author":"a","content":{"parts":'
    '[{"fileData":{"mimeType":"image/png","fileUri":"https://a.example/b.png","odd":1}}]}}',
}


@pytest.mark.parametrize("speaks", FILES)
def test_field_beside_a_file_is_no_field_of_it(speaks: str) -> None:
    output = translate([f"data: {FILES[speaks]}\n\n".encode()], speaks=speaks)
    assert check_stream(output, framing="ndjson") == []
    (file,) = [event for event in events_of(output) if event["type"] == "data"]
    assert "odd" not in file["data"]["data"]
    assert "odd" in file["metadata"]["extra"]
