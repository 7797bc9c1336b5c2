"""The types of the TypeScript client are those of the schema, where Node is there to tell."""

import json
import re
import shutil
import subprocess

import pytest

from places import ROOT

CLIENT = ROOT / "clients" / "typescript"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_types_of_the_typescript_client_follow_the_schema() -> None:
    command = ["node", "scripts/types.mjs", "--check"]
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, f"{done.stderr}\nwrite them anew: node clients/typescript/scripts/types.mjs"


def test_typescript_client_has_the_version_of_the_package() -> None:
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert json.loads((CLIENT / "package.json").read_text())["version"] == version


def test_lock_file_of_the_typescript_client_names_no_registry() -> None:
    assert '"resolved"' not in (CLIENT / "package-lock.json").read_text()
