"""Which dialects there are, and that one that is broken does not spoil the others."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from streamweir import ConfigurationError, convert, detect_dialect, list_dialects
from streamweir.codec import registry
from streamweir.codec.base import Decoder, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import process_dialects
from streamweir.translation.description import describe

TOKEN = b'data: {"type": "token", "content": "Hi"}\n\ndata: {"type": "done"}\n\n'


class TwoSided(Decoder):
    """Reads `form` as one thing or found out, writes it as one of two."""

    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {"form": ("auto", "chat")}


class TwoSidedEncoder(Encoder):
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {"form": ("chat", "agent")}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package has registered a dialect that fails to import, and one that is no decoder."""
    info = tmp_path / "acme_dialects-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-dialects\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[streamweir.dialects]\nbroken = no_such_package.dialect:Decoder\nmistaken = json:loads\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_broken_dialect_is_left_out_of_the_lists_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "streamweir"):
        for names in (
            list_dialects(),
            process_dialects().readable,
            process_dialects().writable,
        ):
            assert "legacy" in names
            assert not {"broken", "mistaken"} & set(names)
    broken, mistaken = (record.getMessage() for record in caplog.records)
    assert broken == (
        "the dialect 'broken' (no_such_package.dialect:Decoder) cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_package'"
    )
    assert mistaken.startswith("the dialect 'mistaken' (json:loads) ")


@pytest.mark.usefixtures("installed")
def test_broken_dialect_does_not_end_streams_whose_dialect_is_found_out() -> None:
    assert detect_dialect(TOKEN) == "legacy"
    assert b'"status":"completed"' in convert(TOKEN, speaks="auto")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "ask", [lambda name: process_dialects().find(name), describe, lambda name: convert(b"", speaks=name)]
)
def test_broken_dialect_given_by_name_raises_its_problem(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(ConfigurationError, match=r"'broken' .* cannot be loaded: ModuleNotFoundError"):
        ask("broken")


def test_option_accepts_the_values_of_both_sides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registry._registered, "two-sided", Dialect("two-sided", TwoSided, TwoSidedEncoder))
    assert process_dialects().find("two-sided").options == {"form": ("auto", "chat", "agent")}
    for value, read, written in (
        ("auto", "auto", "chat"),
        ("chat", "chat", "chat"),
        ("agent", "auto", "agent"),
    ):
        dialect = process_dialects()["two-sided"]
        options = process_dialects().checked_options({"two-sided": {"form": value}})["two-sided"]
        assert dialect.make_decoder(options).option("form") == read
        assert dialect.make_encoder(options).option("form") == written
    with pytest.raises(ConfigurationError, match="cannot be 'old'"):
        process_dialects().checked_options({"two-sided": {"form": "old"}})
