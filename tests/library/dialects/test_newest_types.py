"""Decoders read every type and field that the newest packages of three protocols model.

`tests/clients/newest_types.py` writes the list, and `make clients` compares it with the newest packages.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from streams import events_of, translate

LISTED: Mapping[str, Any] = json.loads(Path(__file__).with_name("newest_types.json").read_text())

BOOKKEEPING: Mapping[str, str] = {
    "ACTIVITY_DELTA": "a change of an activity, whose content only the page of its agent can show",
    "ACTIVITY_SNAPSHOT": "an activity, whose content only the page of its agent can show",
    "REASONING_ENCRYPTED_VALUE": "a value that the agent's own clients send back; no model made it",
    "x": "custom data of the agent, under its own name",
    "choice.logprobs": "probabilities of tokens, for clients that asked for them",
    "chunk.metadata": "labels that the application gave the stored completion",
}
"""By the name of custom data, or by its name and a field: why the decoder makes no standard event of it."""

TYPES = [(title, name) for title, instances in LISTED.items() if title != "versions" for name in instances]


def frames_of(title: str, name: str) -> list[dict[str, Any]]:
    """Return the frames in which a server sends the listed instance."""
    given = LISTED[title][name]
    match title:
        case "openai-responses items":
            return [{"type": "response.output_item.done", "output_index": 0, "item": given}]
        case "anthropic blocks":
            start = {"type": "content_block_start", "index": 0, "content_block": given}
            return [start, {"type": "content_block_stop", "index": 0}]
        case "anthropic deltas":
            return [{"type": "content_block_delta", "index": 0, "delta": given}]
    return [given]


def custom_data(title: str, name: str) -> set[str]:
    """Return the names of the custom data that the decoder makes of the instance, with each field."""
    body = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames_of(title, name)).encode()
    events = events_of(translate([body], speaks=title.partition(" ")[0]))
    found = [event["data"]["data"] for event in events if event["data"].get("data_type") == "custom"]
    return {name for data in found for name in names_in(data)}


def names_in(data: Mapping[str, Any]) -> list[str]:
    """Return the name of custom data if that is bookkeeping, else the name with each of its fields."""
    name, value = data["name"], data["value"]
    if name in BOOKKEEPING or not isinstance(value, dict):
        return [name]
    return [f"{name}.{field}" for field in value]


@pytest.mark.parametrize(("title", "name"), TYPES)
def test_decoder_given_a_modelled_type_reads_every_field(title: str, name: str) -> None:
    assert custom_data(title, name) <= BOOKKEEPING.keys()


def test_bookkeeping_given_all_modelled_types_has_no_needless_line() -> None:
    assert BOOKKEEPING.keys() == {found for title, name in TYPES for found in custom_data(title, name)}


def test_decoder_given_an_unlisted_type_keeps_it_as_custom_data() -> None:
    unknown = b'data: {"type":"response.never.heard_of","sequence_number":1}\n\n'
    events = events_of(translate([unknown], speaks="openai-responses"))
    assert any(event["data"].get("data", {}).get("name") == "response.never.heard_of" for event in events)
