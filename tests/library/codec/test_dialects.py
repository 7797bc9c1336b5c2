"""A set of dialects is a value: it says what names mean, and never changes."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import streamweir.dialects
from places import ROOT
from streamweir import ConfigurationError, Decoder, Encoder, UnknownDialectError
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects

ACME = Dialect("acme", Decoder, summary="Acme's stream:\nevents and ends.\n\nSource: Acme.")

LISTED = """
import sys
from streamweir.codec.dialects import Dialects
dialects = Dialects.built_in()
assert all(dialect.reads or dialect.writes for dialect in dialects.values())
print(*(name for name in sys.modules if name.startswith("streamweir.dialects.")))
"""


def test_built_in_dialects_equal_the_folders() -> None:
    folders = {path.parent.name for path in (ROOT / "middleware/streamweir/dialects").glob("*/__init__.py")}
    assert {name.replace("-", "_") for name in Dialects.built_in()} == folders


@pytest.mark.parametrize("dialect", Dialects.built_in().values(), ids=lambda dialect: dialect.name)
def test_dialect_has_its_classes_summary_and_package(dialect: Dialect) -> None:
    for side, kind in ((dialect.decoder, Decoder), (dialect.encoder, Encoder)):
        assert side is None or issubclass(side, kind)
    assert dialect.summary
    assert dialect.package is not None
    assert dialect.package.startswith(f"{streamweir.dialects.__name__}.")


def test_listing_dialects_loads_no_class() -> None:
    path = {"PYTHONPATH": str(ROOT / "middleware")}
    listed = subprocess.run(
        [sys.executable, "-c", LISTED], capture_output=True, text=True, check=True, env=path, timeout=60
    ).stdout.split()
    assert listed
    assert not [name for name in listed if ".decode" in name or ".encode" in name]


FROM_A_ZIP = """
from streamweir import convert
from streamweir.codec.dialects import Dialects
from streamweir.translation.description import describe
assert "streamweir.zip" in convert.__code__.co_filename
assert all(describe(dialect).reading for dialect in Dialects.built_in().values())
print(*Dialects.built_in())
"""


def test_they_are_found_in_a_package_that_is_a_zip_file(tmp_path: Path) -> None:
    home = ROOT / "middleware"
    with ZipFile(tmp_path / "streamweir.zip", "w") as archive:
        for path in (home / "streamweir").rglob("*"):
            if path.suffix in (".py", ".txt", ".json"):
                archive.write(path, path.relative_to(home))
    archived = {"PYTHONPATH": str(tmp_path / "streamweir.zip")}
    listed = subprocess.run(
        [sys.executable, "-c", FROM_A_ZIP],
        capture_output=True,
        text=True,
        check=True,
        env=archived,
        timeout=60,
    ).stdout.split()
    assert listed == list(Dialects.built_in())


def test_set_with_more_in_it_is_another_set() -> None:
    built_in = Dialects.built_in()
    with_acme = built_in.with_(ACME)
    assert "acme" not in built_in
    assert with_acme["acme"] is ACME
    assert sorted([*built_in, "acme"]) == list(with_acme)
    assert len(with_acme) == len(built_in) + 1
    assert "acme" in with_acme.readable
    assert "acme" not in with_acme.writable


def test_second_dialect_of_a_name_is_refused() -> None:
    dialects = Dialects.built_in().with_(ACME)
    for name in ("acme", "legacy"):
        other = Dialect(name, Decoder)
        with pytest.raises(ConfigurationError, match="replace=True"):
            dialects.with_(other)
        assert dialects.with_(other, replace=True)[name] is other


def test_dialect_is_given_by_name_or_as_an_object() -> None:
    dialects = Dialects.built_in()
    assert dialects.find("legacy").name == "legacy"
    assert dialects.find(ACME) is dialects.to_read(ACME) is ACME
    with pytest.raises(UnknownDialectError, match="did you mean 'legacy'"):
        dialects.find("legaci")
    with pytest.raises(UnknownDialectError, match="dialect to write"):
        dialects.to_write(ACME)


def test_summary_of_a_dialect_is_the_first_paragraph() -> None:
    assert ACME.summary == "Acme's stream: events and ends."
