"""Charts as inline SVG: distribution curves, values by block, and ratios with their intervals.

Drawn here rather than by a plotting library, so that a report stays one small file without scripts, follows the
reader's light or dark theme through CSS classes, and names each point in a tooltip (docs/decisions/0003).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

_WIDTH = 640
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 12, 40
_SERIES_COLOURS = 6
"""Number of ``series-n`` classes in the style sheet; more series take them in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a chart: a candidate and its values."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioRow:
    """One row of a ratio chart; ``None`` where there is no value."""

    label: str
    ratio: float | None
    low: float | None
    high: float | None
    points: tuple[float, ...]
    """Ratio of each block."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps values to places along one axis."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def distribution_chart(series: Sequence[Series], *, axis: str, limit: float | None, limit_name: str) -> Markup:
    """Return cumulative distributions: for each value, the share of requests that took no longer."""
    values = [value for entry in series for value in entry.values if value is not None]
    if not values:
        return _no_data()
    high = max(*values, limit or 0.0) * 1.04
    x = _Scale(0.0, high, _LEFT, _WIDTH - _RIGHT)
    y = _Scale(0.0, 1.0, 260 - _BOTTOM, _TOP)
    parts = [*_x_axis(x, 260, axis), *_y_axis(y, (0.0, 0.25, 0.5, 0.75, 1.0), "share of requests")]
    if limit is not None:
        parts.append(_limit_line(x.at(limit), 260, limit_name))
    for index, entry in enumerate(series):
        known = sorted(value for value in entry.values if value is not None)
        if known:
            parts.append(_steps(known, x, y, index, entry.name))
    return _svg(260, parts, f"Cumulative distribution of {axis}") + _legend([entry.name for entry in series])


def block_chart(series: Sequence[Series], *, axis: str) -> Markup:
    """Return each candidate's value in each block, joined by lines."""
    values = [value for entry in series for value in entry.values if value is not None]
    if not values:
        return _no_data()
    blocks = max(len(entry.values) for entry in series)
    x = _Scale(0.5, blocks + 0.5, _LEFT, _WIDTH - _RIGHT)
    y = _Scale(0.0, max(values) * 1.1 or 1.0, 220 - _BOTTOM, _TOP)
    parts = [*_block_axis(x, blocks), *_y_axis(y, _ticks(0.0, y.high), axis)]
    for index, entry in enumerate(series):
        parts.append(_joined_points(entry, x, y, index))
    return _svg(220, parts, f"{axis} by block") + _legend([entry.name for entry in series])


def ratio_chart(rows: Sequence[RatioRow], *, margin: float) -> Markup:
    """Return ratios on a logarithmic axis with their intervals, each block's ratio, and the margin as a band."""
    numbers = [number for row in rows for number in (row.low, row.high, row.ratio, *row.points) if number]
    if not numbers:
        return _no_data()
    reach = min(max(1 + 2 * margin, *(max(number, 1 / number) for number in numbers)) * 1.05, 1e3)
    height = 52 + 44 * len(rows)
    x = _Scale(-math.log(reach), math.log(reach), _LEFT, _WIDTH - _RIGHT)
    parts = [_band(x, margin, height), *_ratio_axis(x, reach, height)]
    for index, row in enumerate(rows):
        parts.extend(_ratio_row(row, x, 34 + 44 * index, reach))
    return _svg(height, parts, "Ratio to each other candidate, with its interval")


def _svg(height: int, parts: Iterable[Markup], label: str) -> Markup:
    body = Markup("").join(parts)
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, height, label, body
    )


def _no_data() -> Markup:
    return Markup('<p class="quiet">No data.</p>')


def _legend(names: Sequence[str]) -> Markup:
    items = Markup("").join(
        Markup('<li><span class="swatch series-{}"></span>{}</li>').format(index % _SERIES_COLOURS, name)
        for index, name in enumerate(names)
    )
    return Markup('<ul class="legend">{}</ul>').format(items)


def _text(x: float, y: float, text: str, css: str = "tick", anchor: str = "middle") -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(css, x, y, anchor, text)


def _line(x1: float, y1: float, x2: float, y2: float, css: str) -> Markup:
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(css, x1, y1, x2, y2)


def _ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Return round values between ``low`` and ``high``: multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if span <= 0:
        return (low,)
    raw = span / count
    power: float = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw)
    first = math.ceil(low / step)
    return tuple(round(index * step, 12) for index in range(first, math.floor(high / step) + 1))


def _x_axis(x: _Scale, height: int, title: str) -> Iterable[Markup]:
    base = height - _BOTTOM
    yield _line(_LEFT, base, _WIDTH - _RIGHT, base, "axis")
    for tick in _ticks(x.low, x.high):
        yield _text(x.at(tick), base + 16, f"{tick:g}")
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, height - 6, title, "axis-title")


def _y_axis(y: _Scale, ticks: Sequence[float], title: str) -> Iterable[Markup]:
    for tick in ticks:
        yield _line(_LEFT, y.at(tick), _WIDTH - _RIGHT, y.at(tick), "grid")
        yield _text(_LEFT - 6, y.at(tick) + 4, f"{tick:g}", anchor="end")
    middle = (y.start + y.end) / 2
    yield Markup(
        '<text class="axis-title" transform="translate(12 {}) rotate(-90)" text-anchor="middle">{}</text>'
    ).format(middle, title)


def _limit_line(x: float, height: int, name: str) -> Markup:
    return _line(x, _TOP, x, height - _BOTTOM, "limit") + _text(x - 4, _TOP + 10, name, "limit-name", "end")


def _steps(known: Sequence[float], x: _Scale, y: _Scale, index: int, name: str) -> Markup:
    path = f"M{x.at(known[0])} {y.at(0)}"
    for number, value in enumerate(known, start=1):
        path += f"H{x.at(value)}V{y.at(number / len(known))}"
    css = f"curve series-{index % _SERIES_COLOURS}"
    return Markup('<path class="{}" d="{}"><title>{} ({} requests)</title></path>').format(css, path, name, len(known))


def _block_axis(x: _Scale, blocks: int) -> Iterable[Markup]:
    base = 220 - _BOTTOM
    every = max(1, math.ceil(blocks / 12))
    for block in range(1, blocks + 1, every):
        yield _text(x.at(block), base + 16, str(block))
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, 214, "block", "axis-title")


def _joined_points(entry: Series, x: _Scale, y: _Scale, index: int) -> Markup:
    css = f"series-{index % _SERIES_COLOURS}"
    places = [(block, value) for block, value in enumerate(entry.values, start=1) if value is not None]
    line = " ".join(f"{x.at(block)},{y.at(value)}" for block, value in places)
    dots = Markup("").join(
        Markup('<circle class="dot {}" cx="{}" cy="{}" r="4"><title>{}, block {}: {}</title></circle>').format(
            css, x.at(block), y.at(value), entry.name, block, f"{value:.3g}"
        )
        for block, value in places
    )
    return Markup('<polyline class="thin {}" points="{}"/>').format(css, line) + dots


def _band(x: _Scale, margin: float, height: int) -> Markup:
    left, right = x.at(-math.log1p(margin)), x.at(math.log1p(margin))
    return Markup('<rect class="band" x="{}" y="{}" width="{}" height="{}"><title>margin</title></rect>').format(
        left, _TOP, round(right - left, 1), height - _TOP - 30
    )


def _ratio_axis(x: _Scale, reach: float, height: int) -> Iterable[Markup]:
    base = height - 30
    yield _line(x.at(0.0), _TOP, x.at(0.0), base, "axis")
    candidates = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    last = -math.inf
    for tick in candidates:
        place = x.at(math.log(tick))
        if 1 / reach <= tick <= reach and place - last > 30:
            yield _text(place, base + 14, f"{tick:g}")
            last = place
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, height - 2, "ratio (the grey band is the margin)", "axis-title")


def _ratio_row(row: RatioRow, x: _Scale, y: int, reach: float) -> Iterable[Markup]:
    def place(ratio: float) -> float:
        return x.at(math.log(min(max(ratio, 1 / reach), reach)))

    yield _text(_LEFT, y - 8, row.label, "row-label", "start")
    for point in row.points:
        yield Markup('<circle class="ghost" cx="{}" cy="{}" r="3"><title>one block: {}</title></circle>').format(
            place(point), y + 6, f"{point:.3g}"
        )
    if row.low is not None and row.high is not None:
        yield _line(place(row.low), y + 6, place(row.high), y + 6, "interval")
    if row.ratio is not None:
        interval = "" if row.low is None or row.high is None else f", interval {row.low:.3g} to {row.high:.3g}"
        yield Markup('<circle class="dot series-0" cx="{}" cy="{}" r="5"><title>{}{}</title></circle>').format(
            place(row.ratio), y + 6, f"ratio {row.ratio:.3g}", interval
        )
