"""Units: base units inside (seconds, bytes, tokens); scaling happens only here, for people."""

import math

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

_BYTE_STEPS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
_DURATION_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def format_bytes(n_bytes: float | None) -> str:
    """Return bytes as ``1.5 GiB``; "unknown" for ``None``."""
    if n_bytes is None:
        return "unknown"
    for step, name in _BYTE_STEPS:
        if abs(n_bytes) >= step:
            return f"{_significant(n_bytes / step)} {name}"
    return f"{n_bytes:.0f} B"


def format_duration(seconds: float | None) -> str:
    """Return seconds as ``2 min 5 s``, ``1.25 s``, ``38 ms`` or ``9 µs``; "unknown" for ``None``."""
    if seconds is None:
        return "unknown"
    if abs(seconds) >= 120:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    for step, name in _DURATION_STEPS:
        if abs(seconds) >= step:
            return f"{_significant(seconds / step)} {name}"
    return "0 s" if seconds == 0 else f"{_significant(seconds * 1e6)} µs"


def format_number(value: float | None) -> str:
    """Return a number with three significant digits; "unknown" for ``None``."""
    return "unknown" if value is None else _significant(value)


def format_percent(share: float | None) -> str:
    """Return a share (0 to 1) as ``12.3 %``; "unknown" for ``None``."""
    return "unknown" if share is None else f"{_significant(100 * share)} %"


def _significant(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
