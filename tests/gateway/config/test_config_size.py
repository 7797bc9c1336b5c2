"""Large files: as many keys as somebody writes are read, and the work grows with the file and no faster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from streamweir import Decoder, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.yaml_files.report import Report
from streamweir.yaml_files.tree import read_tree
from streamweir_gateway.config import ConfigErrors, GatewayConfig, parse_config
from streamweir_gateway.config.interpolation import Interpolation
from streamweir_gateway.config.rules import check_rules
from streamweir_gateway.config.validation import validate

DIALECTS = Dialects((Dialect("legacy", Decoder, Encoder), Dialect("standard", None, Encoder)))


def load_text(text: str) -> GatewayConfig:
    return parse_config(text, name="config.yaml", folder=Path(), dialects=DIALECTS, environ={})


def endpoints(number: int, line: str) -> str:
    """Return a file whose endpoints are `line` with the number of each in the place of `#`."""
    return "endpoints:\n" + "".join(f"  {line.replace('#', str(index))}\n" for index in range(number))


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions of Python or C `work` calls."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "line",
    [
        "/a#/{x}: {upstream: 'http://h'}",
        "'/{x#}': {upstream: 'http://h', methods: [GET]}",
        "/a#: {upstream: gone#}",
        "/a#: {upstream: ['http://a', 'demo:legacy'], timeouts: {total: 1s}}",
    ],
    ids=["unlike", "alike", "unknown upstreams", "order of timeouts"],
)
def test_twice_as_many_endpoints_are_twice_the_work(line: str) -> None:
    calls_for(1, line)  # what happens once a process
    assert calls_for(200, line) < 2.2 * calls_for(100, line)


@pytest.mark.long
def test_ten_thousand_endpoints_are_at_most_twelve_times_the_work_of_a_thousand() -> None:
    line = "/a#/{x}: {upstream: 'http://h'}"
    calls_for(1, line)
    assert calls_for(10_000, line) <= 12 * calls_for(1000, line)


def calls_for(number: int, line: str) -> int:
    """Return how many calls it takes to judge a file with so many endpoints."""
    report = Report("config.yaml")
    tree = read_tree(endpoints(number, line), report)
    assert tree is not None

    def judge() -> None:
        config = validate(Interpolation({}, Path()).fill(tree, report), report)
        assert config is not None
        check_rules(config, DIALECTS, report)

    return calls_of(judge)


@pytest.mark.long
def test_file_with_a_hundred_thousand_values_is_loaded() -> None:
    names = ", ".join(f"q{index}" for index in range(100_001))
    config = load_text(f"endpoints: {{/a: {{upstream: 'http://h', forward_query: [{names}]}}}}")
    assert len(config.endpoints[0].forward_query) == 100_001


def test_aliases_for_billions_of_values_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(ConfigErrors, match="stands for too many values once its aliases are filled in"):
        load_text("\n".join([*lines, "endpoints: {}"]))


def test_message_about_many_known_names_lists_some() -> None:
    upstreams = "".join(f"  u{index}: {{url: 'http://h'}}\n" for index in range(200))
    with pytest.raises(ConfigErrors) as caught:
        load_text(f"upstreams:\n{upstreams}endpoints: {{/a: {{upstream: other}}}}")
    (problem,) = caught.value.problems
    assert problem.message.endswith(" and 150 more)")
