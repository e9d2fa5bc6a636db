"""Where Assay keeps what it installs and makes for this user: engines and converted models."""

import os
from pathlib import Path

HOME_VARIABLE = "ASSAY_HOME"


def assay_home() -> Path:
    """Return the user's data directory for Assay; the environment variable ``ASSAY_HOME`` overrides it."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().resolve()
    from platformdirs import user_data_path

    return user_data_path("assay", appauthor=False)
