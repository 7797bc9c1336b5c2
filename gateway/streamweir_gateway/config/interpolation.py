"""Fills in `${NAME}`, `${NAME:-default}` and `${file:PATH}` inside string values.

They are filled in after parsing, so that a secret can never change the structure of the file. `${{ ... }}` is
an expression of a home-made dialect and stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import InvalidValue

__all__ = ["Interpolation"]

_OPENING: Final = re.compile(r"\$\{(?!\{)")
_REFERENCE: Final = re.compile(r"\$\{(?!\{)([^{}]*)\}")
_VARIABLE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_IN_DIALECTS: Final = frozenset({"emit", "as", "remember", "send", "request"})
"""The keys of a home-made dialect whose texts can contain names of message fields."""

_SMALL: Final = re.compile(r"[^:]*[a-z]")
_MALFORMED: Final = "has a `${` that is not `${NAME}`, `${NAME:-default}` or `${file:PATH}`"
MAX_FILE_BYTES: Final = 64 * 1024
"""The most bytes of a file of `${file:...}`. Secrets are short; a device must not be read on."""


class _Missing(InvalidValue):
    """The environment has no such variable: an error, unless the file is checked without an environment."""


@dataclass(frozen=True)
class Interpolation:
    """Fills in the references of a tree. With `tolerant`, a missing value becomes `Unresolved`."""

    environ: Mapping[str, str]
    folder: Path
    """The folder from which the path of a `${file:PATH}` starts."""
    tolerant: bool = False
    is_dialect: bool = False
    """Whether the tree is the file of a home-made dialect."""

    def fill(self, value: Any, report: Report, path: KeyPath = ()) -> Any:
        """Return a copy of `value` with all references filled in; report those filled and those missing."""
        if isinstance(value, dict):
            return {key: self.fill(inner, report, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner, report, (*path, index)) for index, inner in enumerate(value)]
        if isinstance(value, str) and _OPENING.search(value):
            return self._fill_text(value, report, path)
        return value

    def _fill_text(self, text: str, report: Report, path: KeyPath) -> str:
        report.filled.add(path)
        failures: list[InvalidValue] = []
        if _OPENING.search(_REFERENCE.sub("", text)):
            failures.append(InvalidValue(_MALFORMED))
        keeps = self._keeps_small_names(path)
        filled = _REFERENCE.sub(
            lambda match: (
                match[0] if keeps and _names_field(match[1]) else self._looked_up(match[1], failures)
            ),
            text,
        )
        for failure in failures:
            if not (self.tolerant and isinstance(failure, _Missing)):
                report.at_value(path, failure.message)
        return Unresolved(text) if failures else filled

    def _keeps_small_names(self, path: KeyPath) -> bool:
        """Return whether a value is in the rules of a dialect, where `${name}` may mean a field."""
        return (self.is_dialect or path[:1] == ("dialects",)) and not _IN_DIALECTS.isdisjoint(path)

    def _looked_up(self, reference: str, failures: list[InvalidValue]) -> str:
        try:
            return self._value_of(reference)
        except InvalidValue as refusal:
            failures.append(refusal)
            return ""

    def _value_of(self, reference: str) -> str:
        if reference.startswith("file:"):
            return self._file(reference.removeprefix("file:"))
        match = _VARIABLE.fullmatch(reference)
        if match is None:
            raise InvalidValue(_MALFORMED)
        name, default = match.groups()
        value = self.environ.get(name)
        if default is not None:
            # As in a shell, the default also stands in for a variable that is set to nothing.
            return value or default
        if value is None:
            raise _Missing(f"the environment variable {name} is not set")
        return value

    def _file(self, name: str) -> str:
        """Return the text of a file, without the newline that editors and secret stores append."""
        try:
            with (self.folder / name).open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise _Missing(f"the file {name!r} cannot be read: {reason or 'not a path'}") from None
        if len(content) > MAX_FILE_BYTES:
            raise InvalidValue(f"the file {name!r} is longer than {MAX_FILE_BYTES} bytes")
        try:
            return content.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise InvalidValue(f"the file {name!r} is not UTF-8 text") from None


def _names_field(reference: str) -> bool:
    return not reference.startswith("file:") and _SMALL.match(reference) is not None
