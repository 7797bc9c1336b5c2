"""The pages of the documentation in Markdown, from the wheel or from the checkout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from streamweir.http.refusals import Refusal

__all__ = ["PAGES", "documentation_page"]

_FOLDERS: Final = (Path(__file__).parents[1] / "documentation", Path(__file__).parents[3] / "docs")
"""The folder of the documentation: the first that exists, in a wheel or in a checkout."""
_NAME: Final = re.compile(r"[a-z0-9-]{1,60}")

PAGES: Final = {
    "cookbook": "Cookbook",
    "configuration": "Configuration",
    "protocol": "Protocol",
    "chat-clients": "Chat clients",
    "home-made-dialects": "Home-made dialects",
    "troubleshooting": "Troubleshooting",
}
"""The pages to which the front page links, with the texts of the links."""


def documentation_page(name: str) -> str:
    """Return a page of the documentation.

    Raises:
        Refusal: the page does not exist.
    """
    if _NAME.fullmatch(name):
        for folder in _FOLDERS:
            file = folder / f"{name}.md"
            if file.is_file():
                return file.read_text(encoding="utf-8")
    raise Refusal("ENDPOINT_NOT_FOUND", "There is no such page.")
