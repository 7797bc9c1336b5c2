"""The path and query at the upstream, with values from the client's path in place of its `{names}`.

Source: the configuration contract (`path`, `/*`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from streamweir.http.refusals import Refusal
from streamweir_gateway.config import REST, EndpointConfig, join_path

__all__ = ["NoSuchPath", "UpstreamTarget", "with_query"]

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_REST: Final = f"{{{REST}}}"
_DOTS: Final = frozenset({".", ".."})


class NoSuchPath(Refusal):
    """A value from the client's path would lead out of the configured path."""

    def __init__(self) -> None:
        super().__init__("ENDPOINT_NOT_FOUND")


class UpstreamTarget:
    """The target of an endpoint's requests to one of its upstreams.

    Attributes:
        template: the path and query, with `{names}` to fill in.
        path: the path if it has no `{names}`; else empty.

    Args:
        endpoint: the configuration of the endpoint.
        base_url: the base URL of the upstream.
    """

    def __init__(self, endpoint: EndpointConfig, base_url: str) -> None:
        url = join_path(base_url, f"/{{{REST}}}" if endpoint.appends_rest else endpoint.path)
        netloc = urlsplit(base_url).netloc
        template = url[url.index(netloc) + len(netloc) :] or "/"
        self.template: Final = "/" + template if template.startswith("?") else template
        self.path: Final = "" if "{" in self.template else self.template.partition("?")[0]
        self._query_at = self.template.find("?")
        self._stem = self.template.removesuffix(_REST)
        self._is_plain = self.template.endswith(_REST) and not {"{", "?", "."} & {*self._stem}

    def filled(self, path_params: Mapping[str, str]) -> str:
        """Return the target with the values filled in.

        Args:
            path_params: decoded values by name; the value of `rest` is not decoded.

        Raises:
            NoSuchPath: the value of a `{name}` is empty or would make a segment `.` or `..`.
        """
        if self._is_plain and "." not in path_params[REST]:
            return self._stem + path_params[REST]
        if "{" not in self.template:
            return self.template
        target = _PLACEHOLDER.sub(lambda match: self._value(match, path_params), self.template)
        if not _DOTS.isdisjoint(target.partition("?")[0].split("/")):
            raise NoSuchPath
        return target

    def _value(self, match: re.Match[str], path_params: Mapping[str, str]) -> str:
        name = match[1]
        value = str(path_params[name])
        if name == REST:
            in_query = 0 <= self._query_at < match.start()
            return quote(unquote(value), safe="") if in_query else value
        if value in ("", *_DOTS):
            raise NoSuchPath
        return quote(value, safe="")


def with_query(target: str, query: str) -> str:
    """Return `target` with the parameters of `query` appended to its own query."""
    if not query:
        return target
    return f"{target}{'&' if '?' in target else '?'}{query}"
