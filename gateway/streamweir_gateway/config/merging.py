"""Merges the layers of the file before validation: upstream over `defaults`, endpoint over upstream.

Values are not checked here. A value of a wrong type takes precedence like others, and is refused later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from streamweir.yaml_files.report import KeyPath
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models.endpoint import EndpointOptions
from streamweir_gateway.config.models.section import Derived, Section, written_keys
from streamweir_gateway.config.models.upstream import UpstreamOptions
from streamweir_gateway.config.values.urls import demo_dialect, is_url

__all__ = ["Merged", "Tree", "merge"]

Tree: TypeAlias = dict[str, Any]

_WHOLE: Final = frozenset({"request"})
"""Mappings that count as one value: a template is not merged with another template."""


class Layer(NamedTuple):
    """A mapping of the file, and the path at which it was written."""

    path: KeyPath
    tree: Mapping[str, Any]

    def only(self, section: type[Section]) -> Layer:
        """Return the part of the layer whose keys belong to `section`."""
        return Layer(self.path, {key: self.tree[key] for key in written_keys(section) if key in self.tree})


class Merged(NamedTuple):
    """A tree in which every upstream and endpoint has all values that apply to it."""

    tree: Tree
    origins: Mapping[KeyPath, KeyPath]
    """The path at which each value was written. A value that no layer contains has no entry."""


def merge(tree: Tree) -> Merged:
    """Return the merged values of a file, without changing `tree`."""
    merging = _Merging(tree, Layer(("defaults",), _mapping(tree.get("defaults"))))
    merged = {
        **tree,
        **merging.each("upstreams", merging.upstream),
        **merging.each("endpoints", merging.endpoint),
        **merging.auth(),
    }
    return Merged(merged, {**merging.origins, **merging.short_forms})


@dataclass
class _Merging:
    file: Tree
    defaults: Layer
    origins: dict[KeyPath, KeyPath] = field(default_factory=dict)
    short_forms: dict[KeyPath, KeyPath] = field(default_factory=dict)
    """The path at which each value was written whose mapping or list the file leaves out."""

    def __post_init__(self) -> None:
        self.upstream_defaults = self.defaults.only(UpstreamOptions)
        self.endpoint_defaults = self.defaults.only(EndpointOptions)

    def each(self, key: str, merged: Callable[[Layer], Tree]) -> Tree:
        """Return the mapping under `key` with each item merged; empty if it is not a mapping."""
        items = self.file.get(key)
        if not isinstance(items, dict):
            return {}
        return {
            key: {
                name: merged(Layer((key, name), item)) if isinstance(item, dict) else item
                for name, item in items.items()
            }
        }

    def auth(self) -> Tree:
        """Return `auth` with every bare key written as a caller; empty if there are no keys."""
        auth = self.file.get("auth")
        if not isinstance(auth, dict) or not isinstance(auth.get("keys"), dict):
            return {}
        keys = {name: self._caller(name, caller) for name, caller in auth["keys"].items()}
        return {"auth": {**auth, "keys": keys}}

    def _caller(self, name: str, written: object) -> Tree:
        if isinstance(written, dict):
            return written
        path: KeyPath = ("auth", "keys", name)
        self.short_forms[*path, "key"] = path
        return {"key": written if isinstance(written, list) else [written]}

    def upstream(self, own: Layer) -> Tree:
        return self._over(own.path, self.upstream_defaults, own)

    def endpoint(self, own: Layer) -> Tree:
        if isinstance(own.tree.get("models"), dict):
            own = self._with_models(own)
        chooses = "models" in own.tree and "upstream" not in own.tree
        if chooses:
            own, targets = self._chosen(own)
        else:
            references = _references(own.tree.get("upstream"))
            targets = [self._target(own, *numbered) for numbered in enumerate(references)]
        return {
            "template": Derived(own.path[-1]),
            "upstreams": Derived(targets),
            "chooses": Derived(chooses),
            **self._over(own.path, self.endpoint_defaults, own),
        }

    def _with_models(self, own: Layer) -> Layer:
        """Return an endpoint with every bare upstream among its models written as a model."""
        models = {name: self._model(own, name, model) for name, model in own.tree["models"].items()}
        return Layer(own.path, {**own.tree, "models": models})

    def _chosen(self, own: Layer) -> tuple[Layer, list[Tree]]:
        """Return an endpoint that lists the upstreams of all its models, and the list of these upstreams."""
        upstream: list[object] = []
        targets: list[Tree] = []
        for name, model in _mapping(own.tree["models"]).items():
            fields = _mapping(model)
            speaks = {"speaks": fields["speaks"]} if "speaks" in fields else {}
            nothing = [] if "alias" in fields else [Unresolved()]
            written = self._written((*own.path, "models", name, "upstream"))
            for number, reference in enumerate(_references(fields.get("upstream")) or nothing):
                self.short_forms[*own.path, "upstream", len(upstream)] = (*written, number)
                layer = Layer(own.path, {**own.tree, **speaks})
                targets.append(self._target(layer, len(upstream), reference))
                upstream.append(reference)
        return Layer(own.path, {**own.tree, "upstream": upstream or [Unresolved()]}), targets

    def _model(self, endpoint: Layer, name: str, written: object) -> object:
        if isinstance(written, str | list):
            path: KeyPath = (*endpoint.path, "models", name)
            self.short_forms[*path, "upstream"] = path
            return {"upstream": written}
        return written

    def _target(self, endpoint: Layer, index: int, reference: object) -> Tree:
        """Return one upstream of an endpoint. If it is not found, it is refused where it is named."""
        at: KeyPath = (*endpoint.path, "upstreams", index)
        options = endpoint.only(UpstreamOptions)
        named = _mapping(self.file.get("upstreams")).get(str(reference))
        if isinstance(reference, str) and isinstance(named, dict):
            shared = Layer(("upstreams", reference), named)
            self.origins[at] = shared.path
            return {"name": Derived(reference), **self._over(at, self.upstream_defaults, shared, options)}
        self.origins[*at, "url"] = self._written((*endpoint.path, "upstream", index))
        known = isinstance(reference, str) and (is_url(reference) or demo_dialect(reference) is not None)
        url = reference if known else Unresolved(reference)
        return {"url": url, **self._over(at, self.upstream_defaults, options)}

    def _written(self, path: KeyPath) -> KeyPath:
        """Return the path at which the file has the value at `path`, perhaps in a short form."""
        return self.short_forms.get(path, path)

    def _over(self, at: KeyPath, *layers: Layer) -> Tree:
        """Return the layers merged to the value at the path `at`; later layers take precedence."""
        merged: Tree = {}
        for layer in layers:
            merged = self._put(layer.tree, merged, layer.path, at)
        return merged

    def _put(
        self, stronger: Mapping[str, Any], weaker: Mapping[str, Any], origin: KeyPath, at: KeyPath
    ) -> Tree:
        """Return `stronger`, written at `origin` in the file, merged over `weaker`: mappings key by key."""
        merged = dict(weaker)
        for key, value in stronger.items():
            here, written = (*at, key), (*origin, key)
            self.origins[here] = written
            if isinstance(value, dict) and key not in _WHOLE:
                below = _mapping(merged.get(key))
                if key == "headers":
                    below = _without_names(below, value)
                value = self._put(value, below, written, here)  # noqa: PLW2901 - what it comes to
            merged[key] = value
        return merged


def _references(written: object) -> list[Any]:
    """Return the references in a value that is one upstream or a list of upstreams."""
    return written if isinstance(written, list) else [written] if isinstance(written, str) else []


def _without_names(headers: Mapping[str, Any], names: Sequence[str] | Mapping[str, Any]) -> Tree:
    """Return `headers` without the headers in `names`, ignoring case."""
    folded = {name.lower() for name in names}
    return {name: value for name, value in headers.items() if name.lower() not in folded}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
