"""What the stories tell of themselves is shown when they pass, too."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """As with `pytest -rP`."""
    config.option.reportchars += "P"
