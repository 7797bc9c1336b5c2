"""What of AG-UI's protocol no recorded stream shows."""

import json
import time
from collections.abc import Sequence

from streamweir.dialects.ag_ui.decode import AgUiDecoder
from streamweir.events import Event
from streamweir.framing import Frame


def events_of_history(*messages: tuple[str, str]) -> Sequence[Event]:
    history = [{"role": role, "content": text} for role, text in messages]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": history}
    return [*AgUiDecoder().decode(Frame(json.dumps(snapshot).encode()))]


def test_the_same_words_before_the_question_are_history() -> None:
    assert len(events_of_history(("assistant", "31"), ("user", "Sure?"), ("assistant", "31"))) == 1


def test_a_long_history_takes_time_in_proportion() -> None:
    messages = [("user", "How many?"), *(("assistant", f"{number}") for number in range(20_000))]
    start = time.thread_time()
    assert len(events_of_history(*messages)) == 20_000
    assert time.thread_time() - start < 3
