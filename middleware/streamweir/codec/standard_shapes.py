"""Converts structured data of other dialects, such as tables, files and citations, to the standard's shapes.

Source: the standard protocol 1.1, section 2 (`data`, `reference`, `interaction`). Each function returns the
value in the standard's shape, and the fields that have no place in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from streamweir.codec.coerce import dataframe, leftover, message_params, named_data, objects_in, text_of
from streamweir.events import Data, Meta

__all__ = ["citations", "file_event", "file_type", "is_opaque", "questions", "structured"]

_ID: Final = "file_id"
_PLACES: Final = ("url", "base64", _ID)
"""The fields that hold the content of a file, or its location."""

Rest = dict[str, Any] | None

_LONGEST_DIALECT: Final = 60
"""The most characters in the name of a dialect."""

_MEDIA_TYPE: Final = ("media_type", "mime_type", "mediaType", "mimeType")
_UNKNOWN_MEDIA: Final = {"image": "image/png", "audio": "audio/mpeg", "file": "application/octet-stream"}
_PATCH_OPERATIONS: Final = frozenset({"add", "remove", "replace", "move", "copy", "test"})
_CITATION_TEXTS: Final = ("id", "title", "url", "snippet", "document_id")
_RESPONSE_TYPES: Final = ("single_choice", "free_text")


def structured(kind: str, value: Any) -> tuple[Any, Rest] | None:
    """Return the `data` of an event of this `data_type`, and its other fields; None if `value` is wrong."""
    if kind == "state_delta":
        return (value, None) if _is_patch(value) else None
    if not isinstance(value, dict):
        return None
    match kind:
        case "dataframe":
            return _table(value)
        case "image" | "audio" | "file":
            return _file(kind, value)
        case "custom":
            return _named(value)
    return value, None


def file_type(media_type: str) -> Literal["image", "audio", "file"]:
    """Return the `data_type` of a file of this media type; the part before the slash is enough."""
    match media_type.partition("/")[0]:
        case "image" | "audio" as kind:
            return kind
    return "file"


def file_event(kind: Literal["image", "audio", "file"], file: dict[str, Any], meta: Meta | None) -> Data:
    """Return the event of a file. A file without bytes, address or id becomes custom data."""
    if any(file.get(place) for place in _PLACES):
        return Data(kind, file, meta=meta)
    return named_data("file", file, meta)


def citations(value: Any) -> tuple[list[dict[str, Any]], Rest]:
    """Return the citations with the standard's keys and types; and all as given, if any had other fields."""
    return _all_or_rest("citations", value, [_citation(item) for item in objects_in(value)])


def questions(value: Any) -> tuple[list[dict[str, Any]] | None, Rest]:
    """Return the questions with the standard's keys and types; and all as given, if any had other fields."""
    if not isinstance(value, list):
        return None, None if value is None else {"questions": value}
    return _all_or_rest("questions", value, [_question(item) for item in value])


def is_opaque(value: Any) -> bool:
    """Return whether `value` has the form of `opaque` in events: an object each for one or more dialects."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(own, dict) and _is_dialect(name) for name, own in value.items())
    )


def _is_dialect(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_DIALECT


def _all_or_rest(name: str, given: Any, fitting: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Rest]:
    return (fitting, None) if given in (None, fitting) else (fitting, {name: given})


def _table(value: Mapping[str, Any]) -> tuple[Any, Rest] | None:
    rows = next((value[key] for key in ("rows", "data") if isinstance(value.get(key), list)), None)
    if rows is None and not isinstance(value.get("columns"), list):
        return None
    table = dataframe(value.get("name"), rows, value.get("columns"))
    return table, leftover(value, ("name", "columns", "rows", "data"))


def _file(kind: str, value: Mapping[str, Any]) -> tuple[Any, Rest] | None:
    place = next((key for key in _PLACES if isinstance(value.get(key), str) and value[key]), None)
    if place is None:
        return None
    given = next((value[key] for key in _MEDIA_TYPE if isinstance(value.get(key), str) and value[key]), None)
    file = {place: value[place]}
    if media_type := given or (None if place == _ID else _media_type(kind, value[place])):
        file["media_type"] = media_type
    if isinstance(value.get("name"), str):
        file["name"] = value["name"]
    return file, leftover(value, (place, "name", *_MEDIA_TYPE))


def _media_type(kind: str, place: str) -> str:
    """Return the media type of a file by its address; for an unknown ending, the usual type of its kind."""
    from mimetypes import guess_type  # noqa: PLC0415 - few files come without a media type

    return guess_type(place[:2000])[0] or _UNKNOWN_MEDIA[kind]


def _named(value: dict[str, Any]) -> tuple[Any, Rest]:
    name = value.get("name")
    if not isinstance(name, str) or not name:
        return {"name": "custom", "value": value}, None
    if "value" in value:
        return {"name": name, "value": value["value"]}, leftover(value, ("name", "value"))
    return {"name": name, "value": leftover(value, ("name",))}, None


def _is_patch(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and isinstance(item.get("op"), str)
        and item["op"] in _PATCH_OPERATIONS
        and isinstance(item.get("path"), str)
        for item in value
    )


def _citation(item: Mapping[str, Any]) -> dict[str, Any]:
    citation: dict[str, Any] = {
        key: text_of(item[key]) for key in _CITATION_TEXTS if item.get(key) not in (None, "")
    }
    score = item.get("score")
    if isinstance(score, int | float) and not isinstance(score, bool):
        citation["score"] = score
    return citation


def _question(item: Any) -> dict[str, Any]:
    fields = item if isinstance(item, dict) else {"text": item}
    options, kind = fields.get("options"), fields.get("response_type")
    default = "single_choice" if isinstance(options, list) else "free_text"
    question = {
        "text": text_of(fields.get("text")),
        "response_type": kind if kind in _RESPONSE_TYPES else default,
    }
    if isinstance(options, list):
        question["options"] = options
    if isinstance(fields.get("required"), bool):
        question["required"] = fields["required"]
    if isinstance(fields.get("text_code"), str) and fields["text_code"]:
        question["text_code"] = fields["text_code"]
    if params := message_params(fields.get("text_params")):
        question["text_params"] = params
    codes = fields.get("option_codes")
    if isinstance(codes, list) and isinstance(options, list) and len(codes) == len(options):
        question["option_codes"] = [code if isinstance(code, str) else None for code in codes]
    return question
