"""Blocks that are read by their forms are copied like those that the parser cuts."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamweir import Translator
from streamweir.events import Event, Stamp
from streamweir.testing import cuts
from streamweir.translation.sink import EventTap
from streamweir.translation.taps import Taps

TEXT = 'data: {"type":"token","content":"Tea"}\n\n'
ANSWER = 'data: {"type":"final_answer","content":"Tea"}\n\n'
MARK = "data: [DONE]\n\n"
BLOCKS = st.sampled_from(
    [
        *(TEXT, TEXT, 'data:{"type":"token","content":" sells"}\n\n', "event: token\n" + TEXT),
        *(
            ANSWER,
            "event: answer\n" + ANSWER,
            'data: {"type":"final_answer","content":"a\\n\\"b\\\\ \\u00e9"}\n\n',
        ),
        *(
            'data: {"type":"final_answer","content":""}\n\n',
            'data: {"type": "final_answer", "content": "哈"}\n\n',
        ),
        *(MARK, "event: end\n" + MARK, "data:[DONE]\n\n", 'data: {"type":"done"}\n\n'),
        *("id: 7\n" + TEXT, ": ping\n\n", "\n", "retry: 5\n\n", "data: [DONE]\n"),
        *(
            'data: {"type":"error","error":"Traceback (most recent call last)"}\n\n',
            'data: {"type":"tool_call","name":"look","args":{}}\n\n',
            'data: {"type":"nothing we know"}\n\n',
        ),
    ]
)


def copying(**options: Any) -> Translator:
    return Translator(
        speaks="legacy",
        answers="legacy",
        framing="sse",
        request_id="req_1",
        session_id="sess_1",
        clock=lambda: 1_790_000_000_000,
        **options,
    )


def copied(pieces: list[bytes], **options: Any) -> bytes:
    translator = copying(**options)
    return b"".join([*map(translator.feed, pieces), translator.close()])


@given(st.lists(BLOCKS, max_size=7), st.integers(0, 9))
@example([TEXT, TEXT, ANSWER, MARK], 1)
@example([TEXT, ANSWER, TEXT, MARK, TEXT], 1)
def test_copied_blocks_are_those_of_single_bytes(blocks: list[str], seed: int) -> None:
    body = "".join(blocks).encode()
    byte_by_byte = copied([body[i : i + 1] for i in range(len(body))])
    assert copied([body]) == byte_by_byte
    assert copied(cuts(body, seed=seed)) == byte_by_byte


@pytest.mark.parametrize("end", ["", MARK, 'data: {"type":"done"}\n\n'])
def test_copied_answer_with_texts_and_its_whole_is_the_body(end: str) -> None:
    body = (TEXT + TEXT + ANSWER + end).encode()
    assert copied([body]) == body


def test_copied_answer_has_the_announced_warnings_wherever_it_is_cut() -> None:
    body = (TEXT + ANSWER + MARK).encode()
    whole = copied([body], warnings=["Soon over."])
    assert whole.endswith(body)
    assert b"Soon over." in whole
    assert copied([body[at : at + 1] for at in range(len(body))], warnings=["Soon over."]) == whole


class _Frames(EventTap):
    def __init__(self) -> None:
        self.taken: list[tuple[bytes, int]] = []

    def write(self, event: Event, stamp: Stamp) -> None:
        pass

    def frame(self, raw: bytes, items: Sequence[object]) -> None:
        self.taken.append((raw, len(items)))


def test_tap_of_a_copied_answer_gets_each_frame_but_texts_by_itself() -> None:
    tap, translator = _Frames(), copying()
    translator.add_taps(Taps([tap]))
    assert translator.feed((TEXT + TEXT + ANSWER + MARK).encode()) == (TEXT + TEXT + ANSWER + MARK).encode()
    assert tap.taken == [((TEXT + TEXT).encode(), 1), (ANSWER.encode(), 1), (MARK.encode(), 0)]
