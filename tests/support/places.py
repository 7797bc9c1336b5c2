"""Where things lie in the checkout."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
RECORDED: Final = ROOT / "tests" / "dialects"
"""Recorded bodies, in one folder per dialect."""
CANONICAL: Final = ROOT / "tests" / "canonical"
"""Streams of canonical events: together they hold every kind of event in every form that it has."""
HOME_MADE: Final = ROOT / "tests" / "home_made"
"""Dialects of real systems in YAML, with recorded bodies, in one folder per system."""
