"""A second reader of a stream that is under way: a log of its events, beside the client's bytes."""

import logging

from streamweir import EventTap, Translator
from streamweir.events import wire_message


class StreamLog(EventTap):
    def write(self, event, stamp):
        logging.info("%s", wire_message(event, stamp))


logging.basicConfig(level=logging.INFO, format="%(message)s")
translator = Translator(speaks="legacy", answers="openai-chat", request_id="req_1")
print(translator.feed(b'data: {"type": "token", "content": "Tea "}\n\n').decode())
translator.add_sink(StreamLog())  # it is shown the events from here on
print(translator.feed(b'data: {"type": "token", "content": "and coffee"}\n\n').decode())
print(translator.feed(b'data: {"type": "done"}\n\n').decode())
