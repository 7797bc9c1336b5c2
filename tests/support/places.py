"""Where things lie in the checkout."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
RECORDED: Final = ROOT / "tests" / "dialects"
"""Recorded bodies, in one folder per dialect."""
