"""Serves the page of the console: files that were built before. They contain no secrets and need no token.

Every view has its own path, and all these paths serve the same document, so that a view can be opened and
reloaded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from starlette.types import Receive, Scope, Send

from streamweir.http.refusals import Refusal
from streamweir.http.sending import send_whole

__all__ = ["STATIC", "ConsolePage"]

STATIC: Final = Path(__file__).with_name("static")
"""The folder of the built files."""

_VIEWS: Final = re.compile(r"/(?:streams/[^/]+|playground|config|dialects)?/?")
_LONGEST_PATH: Final = 200
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".map": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
_NOT_BUILT: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>streamweir console</title>
<main>
<h1>The page of the console is not built</h1>
<p>Build it in the repository, with Node 20.19 or newer and npm:</p>
<pre>make console</pre>
<p>The API below <code>/api/v1/</code> works without it.</p>
</main>
</html>
"""


class ConsolePage:
    """Serves the document of the views, and the files to which the document refers.

    Args:
        folder: the folder of the built files.
    """

    def __init__(self, folder: Path = STATIC) -> None:
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request.

        Raises:
            Refusal: the path does not exist, or the method is neither GET nor HEAD.
        """
        del receive
        if scope["method"] not in ("GET", "HEAD"):
            raise Refusal("METHOD_NOT_ALLOWED", headers={"Allow": "GET, HEAD"})
        if _VIEWS.fullmatch(scope["path"]):
            name, body = "index.html", self._document()
        else:
            name, body = scope["path"], self._file(scope["path"])
        kind = _TYPES.get(Path(name).suffix, "application/octet-stream")
        is_named_by_hash = scope["path"].startswith("/assets/")
        cache = b"public, max-age=31536000, immutable" if is_named_by_hash else b"no-cache"
        headers = [(b"content-type", kind.encode()), (b"cache-control", cache)]
        await send_whole(send, 200, body, headers)

    def _document(self) -> bytes:
        try:
            return (self._folder / "index.html").read_bytes()
        except OSError:
            return _NOT_BUILT.encode()

    def _file(self, path: str) -> bytes:
        """Return the bytes of a built file.

        Raises:
            Refusal: there is no file at the path, or the path leads out of the folder.
        """
        if not path.isprintable() or len(path) > _LONGEST_PATH:
            raise Refusal("ENDPOINT_NOT_FOUND")
        found = (self._folder / path.lstrip("/")).resolve()
        if not found.is_relative_to(self._folder.resolve()) or not found.is_file():
            raise Refusal("ENDPOINT_NOT_FOUND")
        return found.read_bytes()
