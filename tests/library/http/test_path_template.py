"""`PathTemplate` matches like a regular expression, in time that grows with the path only."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamweir.http.path_template import PathTemplate
from streamweir.http.paths import PathPatterns

PIECES = st.lists(st.sampled_from(["a", "b", "-", "ab", "aa", "/", "{}"]), max_size=6).map("".join)
PATHS = st.text(alphabet="ab-/\n", max_size=10).map(lambda text: f"/{text}")


def named(stem: str) -> str:
    """Return `stem` with a different name in each pair of braces."""
    parts = stem.split("{}")
    return parts[0] + "".join(f"{{n{index}}}{part}" for index, part in enumerate(parts[1:]))


def expression(template: str) -> re.Pattern[str]:
    """Return a regular expression that matches the same paths."""
    literals = re.split(r"\{n\d+\}", template.removesuffix("*"))
    names = (f"(?P<n{index}>[^/]+)" for index in range(len(literals) - 1))
    text = re.escape(literals[0]) + "".join(
        name + re.escape(literal) for name, literal in zip(names, literals[1:], strict=True)
    )
    return re.compile(f"{text}(?P<rest>.*)" if template.endswith("*") else text, re.DOTALL)


@example(stem="{}{}aa", star="", path="/aa")
@given(stem=PIECES, star=st.sampled_from(["", "*"]), path=PATHS)
def test_match_finds_the_same_values_as_a_regular_expression(stem: str, star: str, path: str) -> None:
    template = f"/{named(stem)}{star}"
    match = expression(template).fullmatch(path)
    assert PathTemplate(template).match(path) == (None if match is None else match.groupdict())


@pytest.mark.parametrize("template", ["/{a}-{b}-{c}-{d}-{e}!", "/{a}{b}{c}{d}{e}/", "/{a}-{b}-{c}-{d}-{e}!*"])
@pytest.mark.parametrize("path", ["/" + "-" * 60_000, "/" + "a-" * 30_000, "/" * 60_000, "/" + "a" * 60_000])
def test_match_of_a_long_path_takes_linear_time(template: str, path: str) -> None:
    began = time.process_time()
    assert PathTemplate(template).match(path) is None
    assert not PathPatterns(template).cover({"path": path})
    assert time.process_time() - began < 5


def test_wildcard_matches_an_empty_rest_and_several_segments() -> None:
    template = PathTemplate("/old/{x}/*")
    assert template.names == ("x", "rest")
    assert template.match("/old/a/b/c") == {"x": "a", "rest": "b/c"}
    assert template.match("/old/a/") == {"x": "a", "rest": ""}
    assert template.match("/old/a") is None
