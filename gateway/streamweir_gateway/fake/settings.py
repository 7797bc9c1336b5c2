"""The settings of a fake backend, and of a request that asks for other settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from streamweir.codec.base import Options
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.options.durations import parse_duration
from streamweir_gateway.fake.coding import check_codings
from streamweir_gateway.fake.fault_syntax import parse_faults
from streamweir_gateway.fake.faults import Fault
from streamweir_gateway.fake.run import Framing

__all__ = ["Settings"]

_MOST_EVENTS: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one response. `settled` reads changes from texts."""

    dialect: str = "standard"
    framing: Framing = "sse"
    faults: tuple[Fault, ...] = ()
    events: int | None = None
    """The approximate number of events; None: the number in the script."""
    pace: float = 0.03
    """The seconds before each event."""
    seed: int = 0
    """The seed of random choices."""
    options: Options = field(default_factory=dict)
    """The options of the dialect's encoder."""
    replay: bytes | None = None
    """A recorded body to play instead of the script."""

    def settled(self, wishes: Mapping[str, Sequence[str]]) -> Settings:
        """Return these settings with the changes in `wishes`. Of several texts for one name the last counts.

        Raises:
            ConfigurationError: a name or value is invalid.
        """
        last = {name: texts[-1] for name, texts in wishes.items() if texts}
        changed: dict[str, Any] = {}
        if faults := wishes.get("fault"):
            changed["faults"] = parse_faults(faults)
            check_codings(changed["faults"])
        if options := wishes.get("option"):
            changed["options"] = dict(_option(text) for text in options)
        if "dialect" in last:
            changed["dialect"] = last["dialect"]
        for name in ("events", "seed"):
            if name in last:
                changed[name] = _number(name, last[name])
        if "pace" in last:
            changed["pace"] = _pace(last["pace"])
        dialect = changed.get("dialect", self.dialect)
        if "dialect" in changed or "framing" in last:
            changed["framing"] = _framing(dialect, last.get("framing"))
        if changed.get("dialect", self.dialect) != self.dialect:
            changed.setdefault("options", {})
        process_dialects().checked_options({dialect: changed.get("options", self.options)})
        return replace(self, **changed)


def _framing(dialect: str, wish: str | None) -> Framing:
    framings = process_dialects().to_write(dialect).framings
    if wish is None:
        return cast("Framing", framings[0])
    if wish not in ("sse", "ndjson"):
        raise ConfigurationError(f"framing cannot be {wish!r} (one of: sse, ndjson)")
    return cast("Framing", wish)


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ConfigurationError(f"option {text!r}: must be KEY=VALUE, such as form=agent")
    return name, value


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 12 or int(text) > _MOST_EVENTS:
        raise ConfigurationError(f"{name} must be a number up to {_MOST_EVENTS}, not {text[:40]!r}")
    return int(text)


def _pace(text: str) -> float:
    return 0.0 if text in ("0", "0s", "0ms", "off") else parse_duration(text, name="pace")
