"""`tests/vectors/` holds what Python gives; the TypeScript client is held to it. `--update` writes it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from client_vectors import line_vectors, rejection_vectors
from message_vectors import message_vectors
from normalize_vectors import normalize_vectors
from places import ROOT

VECTORS = ROOT / "tests" / "vectors"
MADE: dict[str, Callable[[], list[Any]]] = {
    "messages.json": message_vectors,
    "normalize.json": normalize_vectors,
    "lines.json": line_vectors,
    "rejections.json": rejection_vectors,
}


@pytest.mark.parametrize("name", MADE)
def test_vectors_equal_the_output_of_python(name: str, update: bool) -> None:
    path: Path = VECTORS / name
    written = "[\n" + ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in MADE[name]()) + "\n]\n"
    if update:
        path.write_text(written)
    assert path.read_text() == written, "write it anew: pytest tests/test_vectors.py --update"


def test_vectors_without_a_source_do_not_exist() -> None:
    assert {path.name for path in VECTORS.iterdir()} == set(MADE)
