"""What is learned from any recorded body is a dialect that `check` takes, and keeps its promises."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml_mapping
from cases import for_each
from home_made import spoken
from places import HOME_MADE
from streams import INPUTS, PLANTED, recorded_streams
from streamweir import load_dialect
from streamweir.codec.dialect import Dialect
from streamweir.learning.examples import MAX_PER_RULE, MAX_TEXT
from streamweir.learning.learn import Learned, NothingLearned, learn
from streamweir.learning.trial import problems_of

HOME_MADE_BODIES = [path for path in sorted(HOME_MADE.glob("*/*")) if path.suffix in INPUTS]
BODIES = [*(stream.path for stream in recorded_streams()), *HOME_MADE_BODIES]

NOT_AS_WRITTEN = {
    "coze/tool": "the dialect reads the JSON in a result's text",
    "dify/agent": "the dialect reads the arguments of each tool out of a mapping by name",
}
"""What a person knows that one recording does not show."""


@cache
def learned_from(path: Path) -> Learned | None:
    try:
        return learn([path.read_bytes()], name="acme")
    except NothingLearned:
        return None


def folder_of(path: Path) -> str:
    return path.parent.name


def texts_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts_in(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts_in(inner)]
    return [value] if isinstance(value, str) else []


@for_each("path", BODIES, group=folder_of)
def test_every_dialect_is_sound(path: Path) -> None:
    learned = learned_from(path)
    if learned is None:
        return
    assert yaml_mapping.read(learned.yaml) == {"dialects": {"acme": learned.dialect}}
    assert problems_of(learned.dialect) == []
    assert 0 <= learned.report.share <= 1
    examples = learned.dialect.get("examples", [])
    assert len(examples) <= MAX_PER_RULE * max(len(learned.dialect.get("rules", [])), MAX_PER_RULE)
    for example in examples:
        texts = [text for text in texts_in(example.get("in", "")) if text[:1] not in "{["]
        assert max(map(len, texts), default=0) <= MAX_TEXT
    assert not [secret for secret in PLANTED if secret in learned.yaml]


def meaning(dialect: Dialect, body: bytes) -> dict[str, Any]:
    events = spoken(dialect, body)
    by_type = {kind: [event for event in events if event["type"] == kind] for kind in ("content", "thinking")}
    starts = [event for event in events if event["type"] == "tool_call_start"]
    ends = [event for event in events if event["type"] == "tool_call_end"]
    return {
        **{kind: "".join(event["content"] for event in found) for kind, found in by_type.items()},
        "calls": sorted((event["tool_name"], json.dumps(event["arguments"])) for event in starts),
        "results": sorted(json.dumps(event.get("result")) for event in ends),
        "status": events[-1]["status"],
    }


@for_each("path", HOME_MADE_BODIES, group=folder_of)
def test_learned_dialect_reads_a_happy_stream_like_the_written_one(path: Path) -> None:
    written = Dialect.of_class("written", load_dialect(path.parent / "dialect.yaml"))
    wanted = meaning(written, path.read_bytes())
    if wanted["status"] != "completed" or f"{path.parent.name}/{path.stem}" in NOT_AS_WRITTEN:
        return
    learned = learned_from(path)
    assert learned is not None
    found = Dialect.of_class("acme", load_dialect(learned.dialect))
    assert meaning(found, path.read_bytes()) == wanted, learned.yaml


def test_body_of_a_built_in_dialect_is_recognized_as_it() -> None:
    bases = {stream.dialect: set[str]() for stream in recorded_streams()}
    for stream in recorded_streams():
        learned = learned_from(stream.path)
        if learned is not None and learned.dialect.keys() <= {"extends", "examples"}:
            bases[stream.dialect].add(learned.dialect["extends"])
    assert {name: found for name, found in bases.items() if found != {name}} == {}


@for_each("path", BODIES[::7], group=folder_of)
def test_learned_literals_are_all_in_the_body(path: Path) -> None:
    learned = learned_from(path)
    if learned is None:
        return
    body = path.read_bytes().decode("utf-8", "replace")
    for rule in learned.dialect.get("rules", ()):
        literals = [
            *texts_in(rule.get("match", {})),
            *texts_in(rule.get("event", "")),
            rule.get("prefix", ""),
        ]
        literals += re.findall(r"== '([^']*)'", rule.get("when", ""))
        for literal in literals:
            assert literal in body or json.dumps(literal)[1:-1] in body
