"""docs/requests.md is right: its example runs, and it names all that can be lost."""

import re

import pytest

from places import DOCS
from streamweir.requests.canonical import FIELDS, LOSSES

PAGE = (DOCS / "requests.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_of_the_page_runs(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, "requests.md", "exec"), {"__name__": "__main__"})
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("POST /api/v1/chats/7/sessions ")
    assert "Which region grows?" in second


@pytest.mark.parametrize("name", [*LOSSES, *FIELDS])
def test_page_names_each_loss_and_field(name: str) -> None:
    assert f"`{name}`" in PAGE or name in ("extra",)
