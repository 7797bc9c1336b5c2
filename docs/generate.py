"""Writes what the documents say of dialects and of the configuration, from what they say it of: `make docs`.

docs/dialects/     a page for each, from the README.md in its folder and what its code does; an overview
README.md          the table of dialects
config.yaml        the protocols that clients may have, and a demo endpoint for each dialect
docs/pairs.md      what survives from each dialect that is read to each that is written
docs/protocol.md   the table of warnings
docs/requests.md   what is read of the clients of each dialect, and written for its servers
docs/configuration-reference.md every key of the configuration, from its models
docs/adding-a-dialect.md        the files that `streamweir dialects --new` begins with

Where a document has more in it, it writes between marks only, from `NAME` to `end of NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from textwrap import indent
from typing import Final

from configuration_reference import config_reference
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.errors import WARNINGS
from streamweir.requests.canonical import LOSSES
from streamweir.translation.description import Description, Reading, describe
from streamweir_gateway.processes.reload import NEEDS_RESTART

__all__ = ["documents"]

ROOT: Final = Path(__file__).resolve().parent.parent
FIRST: Final = "standard"
"""The dialect that stands first wherever they are listed: clients get it unless they ask for another."""

_TEMPLATE: Final = ROOT / "gateway/streamweir_gateway/cli/dialect_template"
_LANGUAGES: Final = {".py": "python", ".md": "markdown"}


def main() -> None:
    """Write the documents that have changed."""
    for path, text in documents().items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            print(path.relative_to(ROOT))


def documents() -> dict[Path, str]:
    """Return what each document should hold."""
    dialects = Dialects.built_in()
    ordered = sorted(dialects.values(), key=lambda dialect: (dialect.name != FIRST, dialect.name))
    found = {dialect.name: describe(dialect) for dialect in ordered}
    parts = {
        "README.md": {"dialects": _table(found.values(), "docs/dialects/")},
        "config.yaml": {"answers": _answers(found.values()), "demos": _endpoints(found.values())},
        "docs/adding-a-dialect.md": dict(_files_of_a_new_dialect()),
        "docs/protocol.md": {"warnings": _warnings()},
        "docs/requests.md": {"dialects": _requests(ordered)},
    }
    return {
        **{ROOT / f"docs/dialects/{name}.md": _page(dialects[name], found[name]) for name in found},
        ROOT / "docs/dialects/README.md": _overview(found.values()),
        ROOT / "docs/pairs.md": _pairs(found.values()),
        ROOT / "docs/configuration-reference.md": config_reference(NEEDS_RESTART),
        **{ROOT / name: _filled((ROOT / name).read_text(), parts[name]) for name in parts},
    }


def _filled(document: str, parts: Mapping[str, str]) -> str:
    """The document with what stands between the marks of each part replaced."""
    for name, text in parts.items():
        begin, end = (rf" *(?:<!--|#) {mark}{re.escape(name)}\b.*\n" for mark in ("", "end of "))
        found = re.search(f"(?<=\n)({begin})(?:.*\n)*?(?={end})", document)
        assert found is not None, name
        margin = found[1][: -len(found[1].lstrip())]
        document = f"{document[: found.end(1)]}{indent(text, margin)}{document[found.end() :]}"
    return document


def _warnings() -> str:
    return _rows(("`message_code`", "when"), ((f"`{code}`", row.when) for code, row in WARNINGS.items()))


def _files_of_a_new_dialect() -> Iterator[tuple[str, str]]:
    for template in _TEMPLATE.iterdir():
        name = template.name.removesuffix(".in")
        is_body = template.suffix == ".sse"
        folder = "tests/dialects/acme" if is_body else "middleware/streamweir/dialects/acme"
        language = _LANGUAGES.get(Path(name).suffix, "text")
        text = template.read_text()
        fence = "````" if "```" in text else "```"
        yield name, f"`{folder}/{name}`:\n\n{fence}{language}\n{text}{fence}\n"


def _page(dialect: Dialect, found: Description) -> str:
    assert dialect.package is not None
    text = (files(dialect.package) / "README.md").read_text("utf-8").strip()
    folder = dialect.package.rpartition(".")[2]
    return (
        f"{text}\n\n## In short\n\n{_facts(found)}\n"
        f"<!-- `make docs` writes this page from middleware/streamweir/dialects/{folder}/. -->\n"
    )


def _facts(found: Description) -> str:
    rows = [
        ("reads", _yes(found.reads)),
        ("writes", _yes(found.writes)),
        ("framing", ", ".join(found.framings)),
        *(
            (f"option `{option.name}`", f"{_codes(option.values)} ({option.when})")
            for option in found.options
        ),
        ("ends with", _ends(found)),
    ]
    if found.writes:
        rows.append(("cannot say, or not fully", _losses(found)))
    return _rows(("", ""), rows)


def _options(found: Description) -> Iterator[tuple[str, str]]:
    for option in found.options:
        yield f"option `{option.name}`", f"{_codes(option.values)} ({option.when})"


def _overview(found: Collection[Description]) -> str:
    losses = [(_link(one, ""), _losses(one)) for one in found if one.writes]
    return f"""\
# Dialects

What is read becomes the events of [the protocol](../protocol.md), and what is written is made of them: any
dialect that is read goes into any that is written, and no pair has code of its own.

{_table(found, "")}
A dialect of your own: [Adding a dialect](../adding-a-dialect.md).

## What is lost

It depends on the dialect that is written alone. What has no word there is left out and counted, and the
stream ends with a warning that says so.

{_rows(("dialect", "cannot say, or not fully"), losses)}
What that means for each pair: [Pairs](../pairs.md).

<!-- `make docs` writes this page from the dialects. -->
"""


def _pairs(found: Collection[Description]) -> str:
    sources = [one for one in found if one.reads]
    targets = [one for one in found if one.writes]
    rows = [
        (_link(source, "dialects/"), *(_missing(source, target) for target in targets)) for source in sources
    ]
    return f"""\
# Pairs

From each dialect that is read (a row) to each that is written (a column): `all` of what the one says
survives, or all but what is named. Texts, their order and the end of the run always do. What is named is left
out, or written in part only, and counted in a warning at the end of the stream.

{_rows(("from", *(_link(target, "dialects/") for target in targets)), rows)}
<!-- `make docs` writes this page: what examples of dialects become, and what encoders cannot say of it. -->
"""


def _missing(source: Description, target: Description) -> str:
    lost = [name for name in target.unsupported if source.name == FIRST or name in source.produced]
    names = dict.fromkeys(_KINDS.get(name, name.removeprefix("data ")) for name in lost)
    return f"but {', '.join(names)}" if names else "all"


_KINDS: Final = {
    "tool_call_progress": "progress of tools",
    "tool_call_end success": "results of tools",
    "tool_call_end failed": "results of tools",
    "content, replacing": "text taken back",
    "content, another channel": "channels of text",
    "data custom": "custom data",
    "data state_delta": "changes of state",
    "data dataframe": "tables",
    "data chart": "charts",
    "data image": "images",
    "data file": "files",
    "reference": "references",
    "warning": "warnings",
    "interaction form": "forms",
    "interaction questions": "questions",
    "interaction approval": "approvals",
    "error, the run goes on": "errors amid a run",
}
"""What is lost, in the words of the page."""


def _table(found: Iterable[Description], folder: str) -> str:
    rows = ((_link(one, folder), one.summary, _yes(one.reads), _yes(one.writes), _ends(one)) for one in found)
    return _rows(("name", "what it is", "reads", "writes", "ends with"), rows)


def _requests(dialects: Iterable[Dialect]) -> str:
    head = ("dialect", "clients", "servers", "conversation sent", "its id", "also taken", "answers")
    return _rows(head, ([f"`{one.name}`", *_request_facts(one)] for one in dialects if _has_requests(one)))


def _has_requests(dialect: Dialect) -> bool:
    return dialect.reads_requests or dialect.writes_requests


def _request_facts(dialect: Dialect) -> Iterator[str]:
    writer = dialect.request_writer
    yield _yes(dialect.reads_requests)
    yield _yes(writer is not None)
    if writer is None:
        yield from ("-",) * 4
        return
    yield _HISTORIES[writer.history]
    yield _THREADS[writer.threads]
    yield ", ".join(name for name in LOSSES if name in writer.takes - {"system", "history"}) or "-"
    yield _yes(writer.answers)


_HISTORIES: Final = {"all": "all", "new": "what is new", "last": "the last message"}
_THREADS: Final = {"none": "-", "client": "the client's", "uuid": "a UUID", "server": "the server's"}


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _answers(found: Iterable[Description]) -> str:
    return "".join(f"- {one.name}\n" for one in found if one.writes)


def _endpoints(found: Iterable[Description]) -> str:
    return "\n".join(
        f"# {one.summary}\n/{one.name}:\n  upstream: demo:{one.name}\n  speaks: {one.name}\n"
        for one in found
        if one.writes
    )


def _ends(found: Description) -> str:
    return ", ".join(f"`{row.event}`" for row in found.reading if _ends_well(row)) or "-"


def _ends_well(row: Reading) -> bool:
    types = {event["type"] for event in row.becomes}
    return row.completes or ("session_end" in types and "error" not in types)


def _link(found: Description, folder: str) -> str:
    return f"[`{found.name}`]({folder}{found.name}.md)"


def _losses(found: Description) -> str:
    return "; ".join(found.unsupported) or "-"


def _codes(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in values) or "any text"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


if __name__ == "__main__":
    main()
