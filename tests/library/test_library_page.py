"""The examples of docs/library.md run, and nothing that is public is missing there or has no docstring."""

import inspect
import re
import subprocess
import sys

import pytest

import streamweir
from places import DOCS
from streamweir.codec import registry
from streamweir.testing import check_stream

PAGE = (DOCS / "library.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore:Using `httpx` with `starlette.testclient`")  # httpx2 is not everywhere
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("import ")[-1].split("\n")[0])
def test_example_of_the_library_page_runs(
    example: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    exec(compile(example, "library.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    start = printed.find("id: 0\n")
    if start >= 0:
        assert check_stream(printed[start:].rstrip("\n").encode() + b"\n\n") == []
        assert '"status":"completed"' in printed


def test_importing_loads_no_framework_and_no_client() -> None:
    code = "import streamweir, sys; print({'starlette', 'httpx', 'trio', 'pydantic'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    "name", [name for name in streamweir.__all__ if name not in ("ErrorCode", "Event", "PROTOCOL_VERSION")]
)
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(streamweir, name)), name
