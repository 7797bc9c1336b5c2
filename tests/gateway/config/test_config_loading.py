"""Loading: files that are not there, check mode, and that no input raises anything but `ConfigErrors`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streamweir import Decoder, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.errors import ConfigurationError
from streamweir.yaml_files.report import Report
from streamweir_gateway.config import (
    ConfigErrors,
    GatewayConfig,
    Problem,
    ServerConfig,
    join_path,
    load_config,
    parse_config,
)
from streamweir_gateway.config.key_places import ELSEWHERE
from streamweir_gateway.config.models import Breaker, EndpointConfig, Retries, Tls, UpstreamConfig
from streamweir_gateway.config.validation import validate

DIALECTS = Dialects((Dialect("legacy", Decoder, Encoder), Dialect("standard", None, Encoder)))


def load_text(text: str, *, check: bool = False, **environ: str) -> GatewayConfig:
    return parse_config(
        text, name="config.yaml", folder=Path(), dialects=DIALECTS, environ=environ, check=check
    )


def test_missing_file_gives_a_message_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_config(tmp_path / "gone.yaml", dialects=DIALECTS)
    assert str(caught.value) == f"{tmp_path}/gone.yaml: cannot be read: No such file or directory"


@pytest.mark.parametrize(("name", "reason"), [("", "Is a directory"), ("\0", "not a path")])
def test_unreadable_file_gives_a_message_of_one_line(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        load_config(tmp_path / name, dialects=DIALECTS)
    assert str(caught.value).endswith(f": cannot be read: {reason}")
    assert caught.value.problems[0].line is None


def test_problem_has_line_path_and_message() -> None:
    with pytest.raises(ConfigErrors) as caught:
        load_text("endpoints:\n  /a: {upstream: 'http://h', timeouts: {idel: 5s}}\n")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (2, 41)
    assert problem.path == "endpoints./a.timeouts.idel"
    assert problem.message == "unknown key; did you mean 'idle'?"
    assert str(problem) == f"config.yaml:2:41 {problem.path}: {problem.message}"


def test_check_mode_uses_the_variables_that_are_set() -> None:
    text = "endpoints: {/a: {upstream: 'http://h', speaks: '${DIALECT}'}}"
    assert load_text(text, check=True).endpoints[0].upstreams[0].speaks == "${DIALECT}"
    assert load_text(text, check=True, DIALECT="legacy").endpoints[0].upstreams[0].speaks == "legacy"
    with pytest.raises(ConfigErrors, match="unknown dialect"):
        load_text(text, check=True, DIALECT="other")


def test_empty_variable_gets_its_default() -> None:
    text = "endpoints: {/a: {upstream: 'http://${HOST:-h}'}}"
    assert load_text(text, HOST="").endpoints[0].upstreams[0].url == "http://h"


def test_included_file_is_found_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("abc\n")
    (tmp_path / "c.yaml").write_text(
        "endpoints: {/a: {upstream: 'http://h', headers: {X-Key: '${file:key}', X-Two: '${file:"
        + str(tmp_path)
        + "/key}'}}}"
    )
    config = load_config(tmp_path / "c.yaml", dialects=DIALECTS, environ={})
    assert config.endpoints[0].upstreams[0].headers == (("X-Key", "abc"), ("X-Two", "abc"))


def test_included_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x" * 100_000)
    (tmp_path / "c.yaml").write_text(
        "endpoints: {/a: {upstream: 'http://h', headers: {X-Key: '${file:key}'}}}"
    )
    with pytest.raises(ConfigErrors, match="the file 'key' is longer than 65536 bytes"):
        load_config(tmp_path / "c.yaml", dialects=DIALECTS, environ={}, check=True)


def test_loaded_configuration_cannot_be_changed() -> None:
    config = load_text("endpoints: {/a: {upstream: 'http://h', protocol_options: {legacy: {}}}}")
    with pytest.raises(ValidationError):
        config.debug = True
    with pytest.raises(TypeError):
        config.endpoints[0].protocol_options["legacy"] = {}  # type: ignore[index]


def test_repr_keeps_the_keys_of_callers() -> None:
    config = load_text("auth: {keys: {web: s3cret-of-the-web}}\nendpoints: {/a: {upstream: 'http://h'}}")
    assert config.auth is not None
    assert config.auth.keys["web"].key == ("s3cret-of-the-web",)
    assert "s3cret" not in repr(config)


def test_certificates_are_found_beside_the_file(tmp_path: Path) -> None:
    certificate = (Path(__file__).parent / "cases" / "certificate.pem").read_text()
    (tmp_path / "ca.pem").write_text(certificate)
    (tmp_path / "c.yaml").write_text(
        f"upstreams: {{u: {{url: 'https://h', tls: {{ca: ca.pem}}}}, v: {{url: 'https://h', tls:"
        f" {{ca: {tmp_path}/ca.pem}}}}}}\nendpoints: {{/a: {{upstream: [u, v]}}}}"
    )
    (endpoint,) = load_config(tmp_path / "c.yaml", dialects=DIALECTS, environ={}).endpoints
    assert [upstream.tls.ca for upstream in endpoint.upstreams] == [f"{tmp_path}/ca.pem"] * 2


def test_upstream_is_the_same_by_name_and_by_url() -> None:
    config = load_text("upstreams: {u: {url: 'http://h'}}\nendpoints: {/a: {upstream: [u, 'http://h']}}")
    named, plain = config.endpoints[0].upstreams
    assert config.server == ServerConfig()
    assert named.name == "u"
    assert named.model_copy(update={"name": None}) == plain


def test_repr_and_label_keep_secrets() -> None:
    config = load_text("endpoints: {/a: {upstream: 'http://u:s3cret@h:1/x', headers: {X-Key: s3cret}}}")
    assert "s3cret" not in repr(config)
    assert config.endpoints[0].upstreams[0].label == "http://h:1"


@pytest.mark.parametrize(
    ("upstream", "label"),
    [("demo:legacy", "demo:legacy"), ("named", "named"), ("https://[::1]:1/x", "https://[::1]:1")],
)
def test_label_names_the_upstream(upstream: str, label: str) -> None:
    config = load_text(
        f"upstreams: {{named: {{url: 'http://h'}}}}\nendpoints: {{/a: {{upstream: '{upstream}'}}}}"
    )
    assert config.endpoints[0].upstreams[0].label == label


@pytest.mark.parametrize(
    ("base", "path", "joined"),
    [
        ("http://h", "/a", "http://h/a"),
        ("http://h/b/", "/a?x=1", "http://h/b/a?x=1"),
        ("http://h/b/", None, "http://h/b/"),
    ],
)
def test_path_is_appended_to_the_upstream(base: str, path: str | None, joined: str) -> None:
    assert join_path(base, path) == joined


def test_keys_that_belong_elsewhere_have_no_field() -> None:
    for section, messages in ELSEWHERE.items():
        assert not set(messages) & set(section.model_fields)


@given(st.text())
def test_any_text_is_loaded_or_refused(text: str) -> None:
    check_any(text)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"%@`#?,\n \t$~<=."))
def test_any_punctuation_is_loaded_or_refused(text: str) -> None:
    check_any(text)


KEYS = st.sampled_from(
    [
        *GatewayConfig.model_fields,
        *EndpointConfig.model_fields,
        *UpstreamConfig.model_fields,
        *Retries.model_fields,
        *Breaker.model_fields,
        *Tls.model_fields,
        *ServerConfig.model_fields,
        "keys",
        "origins",
        "continue_for",
        "message",
        "connect",
        "/a",
        "/{x}",
        "[key]",
        "",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(
        [
            "http://h",
            "/a",
            "5s",
            "off",
            "${A}",
            "${GONE}",
            "legacy",
            "standard",
            "demo:legacy",
            "\ud800",
            "${",
            "open",
            "continue",
            "connect",
            429,
            "600/minute",
            "https://a.example",
            "*",
            "10.0.0.0/8",
            "0.0.0.0:80",
        ]
    )
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
UPSTREAMS = st.dictionaries(
    st.sampled_from(["legacy", "a b"]), st.dictionaries(KEYS, TREES, max_size=5) | TREES, max_size=2
)
ENDPOINTS = st.dictionaries(
    st.sampled_from(["/a", "/{x}", "a"]), st.dictionaries(KEYS, TREES, max_size=5) | TREES
)


@given(st.dictionaries(KEYS, TREES, max_size=6), UPSTREAMS, ENDPOINTS, st.booleans())
def test_any_tree_is_loaded_or_refused(
    tree: dict[str, Any], upstreams: Any, endpoints: Any, check: bool
) -> None:
    check_any(json.dumps({**tree, "upstreams": upstreams, "endpoints": endpoints}), check=check)


@given(st.dictionaries(KEYS, TREES, max_size=6), UPSTREAMS, ENDPOINTS)
def test_any_tree_can_be_mended(tree: dict[str, Any], upstreams: Any, endpoints: Any) -> None:
    file = {**tree, "upstreams": upstreams, "endpoints": endpoints}
    assert validate(file, Report("config.yaml")) is not None


def check_any(text: str, *, check: bool = False) -> None:
    """Check that `text` gives a configuration, or problems of one line each that all have a place."""
    found: tuple[Problem, ...] = ()
    try:
        load_text(text, check=check, A="s3cret")
    except ConfigErrors as errors:
        found = errors.problems
        lines = str(errors).splitlines()
    else:
        lines = []
    assert len(lines) == len(found)
    assert all(problem.line and problem.column for problem in found)
    assert not any("s3cret" in line or "cannot be used here" in line for line in lines)
