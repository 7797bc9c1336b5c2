"""A chunk with a text alone is read in a short way; it says the same as the long one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamweir.codec.families.openai_chunks import ChunkReader
from streamweir.codec.families.plain_chunks import text_alone_in
from streamweir.codec.families.ragflow_chunks import RagflowChunkReader
from streamweir.events import Content

VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-1, 2)
    | st.sampled_from(["", "a", "error", "<think>", [], {}, ["x"]])
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant") | VALUES,
        "content": st.text(max_size=5) | VALUES,
        "reasoning_content": VALUES,
        "tool_calls": VALUES,
        "refusal": VALUES,
        "reference": VALUES,
    },
)
CHOICES = st.fixed_dictionaries(
    {"delta": DELTAS | VALUES},
    optional={
        "index": st.sampled_from([0, 0, 0, 1, None, False, 0.0]),
        "finish_reason": st.none() | st.sampled_from(["stop", ""]),
        "logprobs": VALUES,
        "message": VALUES,
        "error": VALUES,
    },
)
CHUNKS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, min_size=0, max_size=2) | CHOICES.map(lambda choice: [choice])},
    optional={
        "id": st.sampled_from(["c1", "c2", ""]),
        "object": st.sampled_from(["chat.completion.chunk", "error", None]),
        "usage": st.none() | st.just({"prompt_tokens": 1}),
        "system_fingerprint": VALUES,
        "error": VALUES,
        "other": VALUES,
    },
)


def state_of(reader: ChunkReader) -> dict[str, Any]:
    return {name: value for name, value in vars(reader).items() if not hasattr(value, "__dict__")}


@given(st.lists(CHUNKS, max_size=4), CHUNKS)
def test_text_alone_is_the_only_event_of_a_chunk(before: list[dict[str, Any]], chunk: dict[str, Any]) -> None:
    for make in (ChunkReader, RagflowChunkReader):
        short, long = make(), make()
        for reader in (short, long):
            for earlier in before:
                for _ in reader.read(earlier):
                    pass
        alone = short.text_alone(chunk)
        if alone is not None:
            assert [*long.read(chunk)] == [alone]
            assert state_of(short) == state_of(long)


def test_text_alone_is_found_in_the_chunks_of_usual_servers() -> None:
    choice = {"index": 0, "delta": {"content": "Hi"}, "logprobs": None, "finish_reason": None}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    assert text_alone_in(chunk) == "Hi"
    reader = RagflowChunkReader()
    assert reader.text_alone(chunk) is None  # it begins the stream
    first = [*reader.read(chunk)]
    assert reader.text_alone(chunk) == first[-1] == Content("Hi", meta={"message_id": "c1"})
