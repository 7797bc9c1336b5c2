"""A dialect in a YAML file is read by the library alone; without the extra the message names it."""

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

LOADING = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[2:]))
from streamweir import ConfigurationError, load_dialect
load_dialect({"terminal": ["eof"], "rules": [{"emit": {"type": "content", "content": "${{ text }}"}}]})
try:
    print(load_dialect(sys.argv[1]).__mro__[1:-1])
except ConfigurationError as error:
    print(error)
"""


@pytest.fixture
def dialect_file(tmp_path: Path) -> Path:
    path = tmp_path / "acme.yaml"
    path.write_text('terminal: [eof]\nrules: [{emit: {type: content, content: "${{ text }}"}}]')
    return path


def loaded_without(path: Path, *modules: str) -> str:
    """What a process prints that loads the dialect at `path` and cannot import `modules`."""
    command = [sys.executable, "-c", LOADING, str(path), *modules]
    env = {"PYTHONPATH": str(ROOT / "middleware")}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=True)
    return done.stdout.strip()


def test_load_dialect_of_a_file_without_the_gateway_returns_a_decoder(dialect_file: Path) -> None:
    assert loaded_without(dialect_file, "streamweir_gateway", "pydantic").startswith("(<class")


def test_load_dialect_of_a_file_without_a_yaml_reader_names_the_extra(dialect_file: Path) -> None:
    assert "pip install 'streamweir[yaml]'" in loaded_without(dialect_file, "ruamel", "ruamel.yaml")
