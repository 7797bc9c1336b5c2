"""Names are the field's own words: what a thing does, not what it tells whom."""

import re

import pytest

from source_tree import MODULES, modules_in, names_given_in

VERBS = re.compile(r"tell|tells|telling|told|hear|hears|heard|say|says|saying|said|blame|blames|blamed")
"""What code does has names of its own: report, note, read, add a cause, raise."""


def words(name: str) -> list[str]:
    """The words of an identifier, in small letters, however they are joined."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [word for word in parted.lower().split("_") if word]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_told_malformed", ["told", "malformed"]),
        ("TellMe", ["tell", "me"]),
        ("WORTH_SAYING", ["worth", "saying"]),
        ("HTTPSayer", ["http", "sayer"]),
    ],
)
def test_identifier_is_split_into_its_words(name: str, expected: list[str]) -> None:
    assert words(name) == expected


@pytest.mark.parametrize("package", sorted({module.partition(".")[0] for module in MODULES}))
def test_identifiers_contain_no_verb_of_speech(package: str) -> None:
    found = {
        f"{module}: {name}"
        for module in modules_in(package)
        for name in names_given_in(module) | {module.rpartition(".")[2]}
        if any(map(VERBS.fullmatch, words(name)))
    }
    assert sorted(found) == []
