"""Every encoder writes one corpus of canonical streams as recorded, and what it wrote means the same again.

Beside the recorded streams of a dialect stands what is written in it: `default.written`, and
`OPTION=VALUE.written` for each other value of each of its options that changes something.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from places import RECORDED
from streams import assert_keeps_its_meaning, canonical_streams, events_of, translate
from streamweir.codec.registry import process_dialects
from streamweir.events import EVENT_TYPES

CORPUS = canonical_streams()


class Form(NamedTuple):
    """A dialect, with one of its options set or none."""

    dialect: str
    option: str = ""
    value: str = ""

    @property
    def options(self) -> dict[str, dict[str, str]]:
        return {self.dialect: {self.option: self.value} if self.option else {}}

    @property
    def file(self) -> Path:
        name = f"{self.option}={self.value}" if self.option else "default"
        return RECORDED / self.dialect / f"{name}.written"

    @property
    def recorded(self) -> Path:
        """The file with what is written; a value that changes nothing has none of its own."""
        return self.file if self.file.exists() else Form(self.dialect).file

    def record(self, written: bytes) -> None:
        default = Form(self.dialect)
        if self == default or written != default.write_all():
            self.file.write_bytes(written)
        else:
            self.file.unlink(missing_ok=True)

    def write_all(self) -> bytes:
        return b"".join(b"=== %b\n%b" % (name.encode(), self.write(body)) for name, body in CORPUS.items())

    def write(self, body: bytes) -> bytes:
        """What a client of the dialect gets of a stream of canonical events."""
        framing = process_dialects().to_write(self.dialect).framings[0]
        return translate(
            [body],
            speaks="standard",
            answers=self.dialect,
            framing=framing,
            stream_tool_arguments=True,
            protocol_options=self.options,
        )

    def __str__(self) -> str:
        return f"{self.dialect}/{self.file.stem}"


def forms() -> list[Form]:
    """Every dialect that is written: as it is by default, and with each other value of each option."""
    found = []
    for name in process_dialects().writable:
        found.append(Form(name))
        for option, values in process_dialects().to_write(name).make_encoder({}).option_values.items():
            found += [Form(name, option, value) for value in values[1:]]
    return found


FORMS = forms()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_corpus_is_written_as_recorded(form: Form, update: bool) -> None:
    written = form.write_all()
    if update:
        form.record(written)
    assert written.decode() == form.recorded.read_bytes().decode()


def test_recorded_files_without_a_writer_do_not_exist() -> None:
    assert {*RECORDED.glob("*/*.written")} == {form.recorded for form in FORMS}


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize("dialect", sorted({*process_dialects().writable} & {*process_dialects().readable}))
def test_written_stream_is_read_back_with_the_same_meaning(dialect: str, name: str) -> None:
    assert_keeps_its_meaning(CORPUS[name], dialect)


def test_corpus_holds_every_kind_of_event() -> None:
    events = [event for body in CORPUS.values() for event in events_of(body)]
    assert {event["type"] for event in events} == {*EVENT_TYPES}
