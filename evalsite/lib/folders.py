"""Where this Evalsite keeps what it came with, and where a site keeps its data."""

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
# a wheel brings templates, protocols and all else in here; a checkout never has this folder
_RESOURCES = _PACKAGE / "resources"
IS_CHECKOUT = not _RESOURCES.is_dir()
BASE_DIR = _PACKAGE.parent if IS_CHECKOUT else _RESOURCES


def default_data_folder() -> Path:
    """Return where a site keeps its data unless it's told otherwise."""
    if IS_CHECKOUT:
        return BASE_DIR / "var"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "evalsite"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "evalsite"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "evalsite"
