"""One dialect as a value: its name, its description, and the module and class of its decoder and encoder."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from streamweir.codec.base import NO_OPTIONS, Decoder, Encoder, FramingName, Options
from streamweir.codec.failed_request import FailedRequest
from streamweir.codec.hints import Hints
from streamweir.codec.option_values import option_text
from streamweir.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from streamweir.codec.turn_collector import TurnCollector
    from streamweir.requests.sides import RequestReader, RequestWriter

__all__ = ["Dialect"]

T = TypeVar("T")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED: Final = frozenset({"auto"})
_PACKAGE: Final = __name__.partition(".")[0]
_JUST_A_MESSAGE: Final[Mapping[str, Any]] = MappingProxyType({"message": "Hello"})


class Dialect:
    """An event vocabulary: its decoder and its encoder, either of which may be missing.

    A class that is given by its place is imported when it is first used.

    Args:
        name: letters, digits, `.`, `_`, `-`; not `auto`.
        decoder: the class that reads the dialect, or the place of the class as `".decode:AcmeDecoder"`,
            relative to `package`.
        encoder: the class that writes the dialect, or its place.
        summary: a sentence about the dialect. Only the first paragraph is used, so that a module's `__doc__`
            can be given.
        package: the package that holds the dialect, with its `examples.txt` and `README.md`.
        hints: signs of the dialect's messages; by default the hints of the decoder.
        detectable: whether the first bytes of a body may show the dialect.
        sample_request: the smallest body that a backend of this dialect understands; by default an object
            with only a `message`.
        client_paths: the endings of the URL paths that its clients call; the base URL makes no difference.
        request_reader: the reader for the requests of its clients, or the place of the reader as
            `".request:READER"`.
        request_writer: the writer of requests to upstreams of the dialect, or its place.
        turn_collector: the class that builds the turn of one answer, or its place.

    Raises:
        ConfigurationError: `name` is not allowed as the name of a dialect.
    """

    def __init__(  # noqa: PLR0913 (one keyword for each thing that a dialect has)
        self,
        name: str,
        decoder: type[Decoder] | str | None = None,
        encoder: type[Encoder] | str | None = None,
        *,
        summary: str | None = None,
        package: str | None = None,
        hints: Hints | None = None,
        detectable: bool = True,
        sample_request: Mapping[str, Any] = _JUST_A_MESSAGE,
        client_paths: tuple[str, ...] = (),
        request_reader: RequestReader | str | None = None,
        request_writer: RequestWriter | str | None = None,
        turn_collector: type[TurnCollector] | str | None = None,
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED:
            raise ConfigurationError(f"{name!r} cannot be the name of a dialect")
        self.name: Final = name
        self.summary: Final = " ".join((summary or "").strip().partition("\n\n")[0].split())
        """The description of the dialect in one line."""
        self.package: Final = package
        self.detectable: Final = detectable
        self.sample_request: Final = sample_request
        self.client_paths: Final = client_paths
        self._hints: Final = hints
        self._decoder: Final = decoder
        self._encoder: Final = encoder
        self.reads: Final = decoder is not None
        """Whether the dialect has a decoder, loaded or not."""
        self.writes: Final = encoder is not None
        """Whether the dialect has an encoder, loaded or not."""
        self._request_reader: Final = request_reader
        self._request_writer: Final = request_writer
        self._turn_collector: Final = turn_collector

    @classmethod
    def of_class(
        cls,
        name: str,
        side: Any,
        *,
        framing: FramingName | None = None,
        encoder: Any = None,
        errors_for_users: bool | None = None,
    ) -> Dialect:
        """Return the dialect of a `Decoder` or an `Encoder`.

        Args:
            name: the dialect's name.
            side: the class. A `Decoder` may name its encoder as `encoder`; the dialect of an `Encoder` is
                only written. Either class may have a `request_reader` and a `request_writer`.
            framing: replaces the framing of the decoder.
            encoder: replaces the encoder that the decoder names.
            errors_for_users: replaces the value of the decoder.

        Raises:
            ConfigurationError: `name` is not allowed as the name of a dialect.
            TypeError: `side` or `encoder` is not a class of that kind.
        """
        requests: Any = {key: getattr(side, key, None) for key in ("request_reader", "request_writer")}
        if isinstance(side, type) and issubclass(side, Encoder):
            return cls(name, None, side, summary=_documentation_of(side), **requests)
        if not isinstance(side, type) or not issubclass(side, Decoder):
            raise TypeError("is neither a Decoder nor an Encoder")
        encoder = encoder or getattr(side, "encoder", None)
        if encoder is not None and not (isinstance(encoder, type) and issubclass(encoder, Encoder)):
            raise TypeError("has an encoder that is no Encoder")
        attributes = {"framing": framing, "errors_for_users": errors_for_users}
        given = {key: value for key, value in attributes.items() if value is not None}
        decoder = type(side.__name__, (side,), given) if given else side
        return cls(name, decoder, encoder, summary=_documentation_of(side), **requests)

    @property
    def reads_requests(self) -> bool:
        """Whether the dialect has a reader of requests. This loads no module."""
        return self._request_reader is not None

    @property
    def writes_requests(self) -> bool:
        """Whether the dialect has a writer of requests. This loads no module."""
        return self._request_writer is not None

    @property
    def hints(self) -> Hints | None:
        """Signs of the dialect's messages; None if the decoder has to be asked about every message."""
        if self._hints is not None or isinstance(self._decoder, str | None):
            return self._hints
        return self._decoder.hints

    @cached_property
    def decoder(self) -> type[Decoder] | None:
        """The class that reads the dialect; None if it is only written."""
        return _imported(self._decoder, self.package)

    @cached_property
    def is_ours(self) -> bool:
        """Whether the decoder is part of this package, so that its events need not be checked."""
        classes = () if self.decoder is None else self.decoder.__mro__[:-1]
        return all(cls.__module__.partition(".")[0] == _PACKAGE for cls in classes)

    @cached_property
    def looks_at_heads(self) -> bool:
        """Whether the decoder detects its dialect from a body's whole head: see `Decoder.looks_at_heads`."""
        return self.decoder is not None and self.decoder.looks_at_heads()

    @cached_property
    def encoder(self) -> type[Encoder] | None:
        """The class that writes the dialect; None if it is only read."""
        return _imported(self._encoder, self.package)

    @cached_property
    def request_reader(self) -> RequestReader | None:
        """The reader for the requests of the dialect's clients; None if the dialect has no reader."""
        return cast("RequestReader | None", _loaded(self._request_reader, self.package))

    @cached_property
    def request_writer(self) -> RequestWriter | None:
        """The writer of requests to upstreams of the dialect; None if the dialect has no writer."""
        return cast("RequestWriter | None", _loaded(self._request_writer, self.package))

    @cached_property
    def turn_collector(self) -> type[TurnCollector] | None:
        """The class that builds the turn of one answer; None if turns of this dialect are not kept."""
        return _imported(self._turn_collector, self.package)

    @property
    def framing(self) -> FramingName:
        """The usual framing of the dialect's bodies; `auto` if any framing is possible."""
        return "auto" if self.decoder is None else self.decoder.framing

    @property
    def media_types(self) -> frozenset[str]:
        """The media types of the streams that the decoder reads, in addition to those of SSE and NDJSON."""
        return frozenset() if self.decoder is None else self.decoder.media_types

    @property
    def framings(self) -> tuple[Literal["sse", "ndjson", "lines"], ...]:
        """The framings that the encoder writes, the default first; empty if the dialect is only read."""
        return () if self.encoder is None else self.encoder.framings

    def failure_body(self, failure: FailedRequest) -> Mapping[str, Any] | None:
        """Return the body of a response that is only a failure; None: the standard's envelope is used."""
        return None if self.encoder is None else self.encoder.failure_body(failure)

    def client_call_id(self, tool_id: str, request_id: str) -> str:
        """Return the id by which the dialect's clients know a call of a stream."""
        return tool_id if self.encoder is None else self.encoder.client_call_id(tool_id, request_id)

    @property
    def asks_by_body(self) -> bool:
        """Whether the dialect's clients ask for a stream in the body of their request."""
        return self.encoder is not None and self.encoder.asks_by_body

    @property
    def asks_for_usage(self) -> bool:
        """Whether the dialect's clients ask in their request for the usage of a stream."""
        return self.encoder is not None and self.encoder.asks_for_usage

    @property
    def request_names(self) -> Mapping[str, str]:
        """The fields that name a conversation or a run in the requests of the dialect's clients."""
        return {} if self.encoder is None else self.encoder.request_names

    @property
    def request_headers(self) -> Mapping[str, bytes]:
        """The request headers by which the dialect's clients tell which form of the dialect they read."""
        return {} if self.encoder is None else self.encoder.request_headers

    @property
    def echoed_fields(self) -> tuple[str, ...]:
        """The fields of a client's request that the answer repeats."""
        return () if self.encoder is None else self.encoder.echoed_fields

    @property
    def streams_arguments(self) -> bool:
        """Whether the dialect's clients get a call's arguments in pieces."""
        return self.encoder is not None and self.encoder.streams_arguments

    @cached_property
    def options(self) -> Mapping[str, tuple[str, ...]]:
        """Return the options with their allowed values: for reading, for writing and for requests.

        An option may be known to the decoder and the encoder with different values. A side that does not know
        the chosen value keeps its default.
        """
        allowed: dict[str, tuple[str, ...]] = {}
        for side in (self.decoder, self.encoder, self.request_writer):
            for name, values in side.option_values.items() if side else ():
                allowed[name] = tuple(dict.fromkeys((*allowed.get(name, ()), *values)))
        return allowed

    def options_for(self, path: str) -> Options:
        """Return the options that follow from the URL path of an upstream."""
        return NO_OPTIONS if self.decoder is None else self.decoder.options_for(path)

    def check_options(self, options: Options) -> None:
        """Raise `ConfigurationError` for an option, or a value, that the dialect does not have."""
        for option, value in options.items():
            if option not in self.options:
                raise ConfigurationError(
                    f"{self.name} has no option {option!r}{did_you_mean(option, self.options)}"
                    f" (known: {', '.join(self.options) or 'none'})"
                )
            allowed = self.options[option]
            if option_text(value) not in allowed:
                raise ConfigurationError(
                    f"{self.name}.{option} cannot be {value!r} (one of: {', '.join(allowed)})"
                )

    def asks_for_another_form(self, options: Options) -> bool:
        """Return whether an option changes how the dialect is written, even if it also changes how the
        dialect is read.

        The values `auto`, and `on` of opaque values, keep the form that the frames of the upstream have.
        """
        if not options:
            return False
        written = NO_OPTIONS if self.encoder is None else self.encoder.option_values
        return any(
            name in written and option_text(value) not in ("auto", "on") for name, value in options.items()
        )

    def make_decoder(self, options: Options) -> Decoder:
        """Return a new decoder for one stream.

        Raises:
            ConfigurationError: the dialect is only written.
        """
        if self.decoder is None:
            raise ConfigurationError(f"the dialect {self.name!r} cannot be read")
        decoder = self.decoder()
        decoder.options = options
        return decoder

    def make_encoder(self, options: Options, *, room: int | None = None) -> Encoder:
        """Return a new encoder for one stream.

        Args:
            options: the chosen options.
            room: the number of bytes that the encoder may keep; None: the default.

        Raises:
            ConfigurationError: the dialect is only read.
        """
        if self.encoder is None:
            raise ConfigurationError(f"the dialect {self.name!r} cannot be written")
        encoder = self.encoder()
        encoder.options = options
        if room is not None:
            encoder.room = room
        return encoder

    def __repr__(self) -> str:
        return f"Dialect({self.name!r})"


def _imported(side: type[T] | str | None, package: str | None) -> type[T] | None:
    return cast("type[T] | None", _loaded(side, package))


def _loaded(side: object, package: str | None) -> object:
    """Import the class if `side` is a place, and return it; return any other value unchanged."""
    if not isinstance(side, str):
        return side
    module, _, name = side.partition(":")
    found: object = getattr(importlib.import_module(module, package), name)
    return found


def _documentation_of(side: type) -> str | None:
    """Return the docstring of the class's module, else the docstring of the class."""
    return getattr(sys.modules.get(side.__module__), "__doc__", None) or side.__doc__
