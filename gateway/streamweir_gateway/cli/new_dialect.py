"""`streamweir dialects --new`: writes the folder of a new dialect, to begin with."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from pathlib import Path
from typing import Final

from streamweir import ConfigurationError
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import process_dialects
from streamweir_gateway.cli.command import UsageError

__all__ = ["write_dialect"]

_CODE: Final = Path("middleware/streamweir/dialects")
_BODIES: Final = Path("tests/dialects")
_BODY: Final = re.compile(r"\.(sse|ndjson|json)\Z")


def write_dialect(name: str, root: Path) -> list[Path]:
    """Write the folders of a dialect into a checkout: its code, and recorded bodies.

    Args:
        name: the name of the dialect.
        root: the folder of the checkout.

    Returns:
        The files that were written.

    Raises:
        UsageError: there is no checkout at `root`, or the name is taken or invalid.
    """
    _check(name, root)
    folder, words = _folder_of(name), {"Acme": _class_name_of(name), "acme": name}
    written = []
    for template in files(__package__).joinpath("dialect_template").iterdir():
        place = _BODIES / name if _BODY.search(template.name) else _CODE / folder
        text = re.sub("Acme|acme", lambda found: words[found[0]], template.read_text("utf-8"))
        path = root / place / template.name.removesuffix(".in")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        written.append(path)
    return sorted(written)


def _check(name: str, root: Path) -> None:
    try:
        Dialect(name)
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
    folder = _folder_of(name)
    if not folder.isidentifier() or keyword.iskeyword(folder):
        raise UsageError(f"{name!r} cannot be the name of a package")
    if not (root / _CODE).is_dir() or not (root / _BODIES).is_dir():
        raise UsageError(f"there is no checkout of streamweir here: {_CODE} and {_BODIES} are not both there")
    if process_dialects().has_name(name) or (root / _CODE / folder).exists():
        raise UsageError(f"there is a dialect {name!r} already")


def _folder_of(name: str) -> str:
    return re.sub(r"[.-]", "_", name)


def _class_name_of(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[._-]", name))
