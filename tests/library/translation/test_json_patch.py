"""JSON Patch (RFC 6902); most cases are those of its appendix A."""

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamweir.translation.json_patch import CopyRoom, PatchError, apply_patch

GOOD: list[tuple[str, Any, list[dict[str, Any]], Any]] = [
    (
        "A.1 add a member",
        {"foo": "bar"},
        [{"op": "add", "path": "/baz", "value": "qux"}],
        {"baz": "qux", "foo": "bar"},
    ),
    (
        "A.2 add an element",
        {"foo": ["bar", "baz"]},
        [{"op": "add", "path": "/foo/1", "value": "qux"}],
        {"foo": ["bar", "qux", "baz"]},
    ),
    ("A.3 remove a member", {"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
    (
        "A.4 remove an element",
        {"foo": ["bar", "qux", "baz"]},
        [{"op": "remove", "path": "/foo/1"}],
        {"foo": ["bar", "baz"]},
    ),
    (
        "A.5 replace a value",
        {"baz": "qux", "foo": "bar"},
        [{"op": "replace", "path": "/baz", "value": "boo"}],
        {"baz": "boo", "foo": "bar"},
    ),
    (
        "A.6 move a value",
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    (
        "A.7 move an element",
        {"foo": ["all", "grass", "cows", "eat"]},
        [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    (
        "A.8 test",
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    (
        "A.10 add a nested member",
        {"foo": "bar"},
        [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
        {"foo": "bar", "child": {"grandchild": {}}},
    ),
    (
        "A.11 ignore unknown members",
        {"foo": "bar"},
        [{"op": "add", "path": "/baz", "value": 1, "xyz": 123}],
        {"foo": "bar", "baz": 1},
    ),
    ("A.14 escapes", {"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
    (
        "A.16 add an array",
        {"foo": ["bar"]},
        [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
        {"foo": ["bar", ["abc", "def"]]},
    ),
    ("add replaces a member", {"a": 1}, [{"op": "add", "path": "/a", "value": None}], {"a": None}),
    ("add at the end by index", {"a": [1]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2]}),
    ("the empty key", {"": {"": 1}}, [{"op": "replace", "path": "//", "value": 2}], {"": {"": 2}}),
    ("the whole document", {"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
    (
        "copy",
        {"a": {"b": [1]}},
        [{"op": "copy", "from": "/a", "path": "/c"}, {"op": "add", "path": "/c/b/0", "value": 0}],
        {"a": {"b": [1]}, "c": {"b": [0, 1]}},
    ),
    (
        "copy the whole into itself",
        {"a": 1},
        [{"op": "copy", "from": "", "path": "/b"}],
        {"a": 1, "b": {"a": 1}},
    ),
    ("move to its own place", {"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}),
    ("numbers are equal by value", {"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}], {"a": 1}),
    ("nothing to do", {"a": 1}, [], {"a": 1}),
]

BAD: list[tuple[str, Any, Any]] = [
    ("A.9 a test fails", {"baz": "qux"}, [{"op": "test", "path": "/baz", "value": "bar"}]),
    ("A.12 add below nothing", {"foo": "bar"}, [{"op": "add", "path": "/baz/bat", "value": "qux"}]),
    ("A.15 text is no number", {"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": "10"}]),
    ("true is not 1", {"a": 1}, [{"op": "test", "path": "/a", "value": True}]),
    ("false is not 0 deep down", {"a": [{"b": 0}]}, [{"op": "test", "path": "/a", "value": [{"b": False}]}]),
    ("replace nothing", {}, [{"op": "replace", "path": "/a", "value": 1}]),
    ("remove nothing", {"a": [1]}, [{"op": "remove", "path": "/a/1"}]),
    ("remove the end", {"a": [1]}, [{"op": "remove", "path": "/a/-"}]),
    ("remove everything", {"a": 1}, [{"op": "remove", "path": ""}]),
    ("beyond the end", {"a": [1]}, [{"op": "add", "path": "/a/2", "value": 1}]),
    ("a leading zero", {"a": [1, 2]}, [{"op": "remove", "path": "/a/01"}]),
    ("a negative index", {"a": [1, 2]}, [{"op": "remove", "path": "/a/-1"}]),
    ("digits of another script", {"a": [1, 2]}, [{"op": "remove", "path": "/a/١"}]),
    ("into a string", {"a": "xyz"}, [{"op": "add", "path": "/a/0", "value": "b"}]),
    ("into its own child", {"a": {"b": {}}}, [{"op": "move", "from": "/a", "path": "/a/b/c"}]),
    ("no slash", {"a": 1}, [{"op": "remove", "path": "a"}]),
    ("a bad escape", {"a~2b": 1}, [{"op": "remove", "path": "/a~2b"}]),
    ("no value", {"a": 1}, [{"op": "add", "path": "/b"}]),
    ("no from", {"a": 1}, [{"op": "copy", "path": "/b"}]),
    ("an unknown operation", {"a": 1}, [{"op": "increment", "path": "/a", "value": 1}]),
    ("no operation", {"a": 1}, ["remove"]),
    ("no list", {"a": 1}, {"op": "remove", "path": "/a"}),
    ("the second fails", {"a": 1}, [{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}]),
    ("a path that is no text", {"a": 1}, [{"op": "remove", "path": ["a"]}]),
]


@pytest.mark.parametrize(
    ("document", "patch", "expected"), [case[1:] for case in GOOD], ids=[case[0] for case in GOOD]
)
def test_apply_patch_returns_a_changed_copy(
    document: Any, patch: list[dict[str, Any]], expected: Any
) -> None:
    before, given_patch = copy.deepcopy(document), copy.deepcopy(patch)
    assert apply_patch(document, patch) == expected
    assert (document, patch) == (before, given_patch)


@pytest.mark.parametrize(("document", "patch"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_apply_patch_that_does_not_fit_raises(document: Any, patch: Any) -> None:
    before = copy.deepcopy(document)
    with pytest.raises(PatchError):
        apply_patch(document, patch)
    assert document == before


DOUBLING = [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "copy", "from": "", "path": "/a"}]


def test_apply_patch_with_copies_of_copies_is_refused() -> None:
    apply_patch({"a": 1}, DOUBLING * 8)
    with pytest.raises(PatchError):
        apply_patch({"a": 1}, DOUBLING * 60)


def test_copies_of_several_patches_have_one_bound() -> None:
    document, copies = {"a": "x" * 100}, CopyRoom(10_000)
    with contextlib.suppress(PatchError):
        for _ in range(60):
            document = apply_patch(document, DOUBLING, copies)
    assert len(json.dumps(document)) <= 10_200
    with pytest.raises(PatchError):
        apply_patch({"a": 1}, DOUBLING, copies)


def test_copied_value_is_changed_apart_from_its_source() -> None:
    patch = [
        {"op": "add", "path": "/a/-", "value": 1},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/-", "value": 2},
        {"op": "add", "path": "/a/-", "value": 3},
    ]
    assert apply_patch({"a": []}, patch) == {"a": [1, 3], "b": [1, 2]}


def test_patch_copies_each_container_once() -> None:
    copied = 0

    class Counted(list[int]):
        def copy(self) -> list[int]:
            nonlocal copied
            copied += 1
            return Counted(self)

    patch = [{"op": "add", "path": "/a/-", "value": number} for number in range(1000)]
    assert apply_patch({"a": Counted()}, patch) == {"a": [*range(1000)]}
    assert copied == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
pointers = st.text("ab/~01-", max_size=5)
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": pointers},
    optional={"value": json_values, "from": pointers},
)


@settings(deadline=None)
@given(json_values, st.lists(operations | json_values, max_size=4))
def test_apply_patch_with_any_patch_returns_or_raises(document: Any, patch: Any) -> None:
    before = copy.deepcopy(document)
    with contextlib.suppress(PatchError):
        apply_patch(document, patch)
    assert document == before
