"""Charts as inline SVG: distribution curves, values by block, and ratios with their intervals.

Drawn here rather than by a plotting library, so that a report stays one small file without scripts, follows the
reader's light or dark theme through CSS classes, and names each point in a tooltip (docs/decisions/0003).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.report._svg import (
    Area,
    Scale,
    dot,
    legend,
    line,
    no_data,
    series_class,
    text,
    ticks,
    value_axis_across,
    value_axis_upward,
)

_WIDE, _HALF = 1000, 480
_ROW_HEIGHT = 44
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_RATIO_MARKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_LEAST_MARK_GAP = 32


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


def distribution_chart(series: Sequence[Series], *, axis: str, limit: float | None, limit_name: str) -> Markup:
    """Return cumulative distributions: for each value, the share of requests that took no longer."""
    values = [value for entry in series for value in entry.values if value is not None]
    if not values:
        return no_data()
    area = Area(width=_HALF, height=280)
    x = area.across(0.0, max(*values, limit or 0.0) * 1.04)
    y = area.upward(0.0, 1.0)
    parts = [*value_axis_across(area, x, axis), *value_axis_upward(area, y, _SHARES, "share of requests")]
    if limit is not None:
        place = x.at(limit)
        parts.append(line(place, area.top, place, area.base, "limit"))
        parts.append(text(place - 4, area.base - 6, limit_name, "limit-name", "end"))
    for index, entry in enumerate(series):
        known = sorted(value for value in entry.values if value is not None)
        if known:
            parts.append(_steps(known, x, y, index, entry.name))
    return area.svg(parts, f"Cumulative distribution of {axis}") + legend([entry.name for entry in series])


def block_chart(series: Sequence[Series], *, axis: str) -> Markup:
    """Return each candidate's value in each block, joined by lines."""
    values = [value for entry in series for value in entry.values if value is not None]
    if not values:
        return no_data()
    area = Area(width=_WIDE, height=250)
    blocks = max(len(entry.values) for entry in series)
    x = area.across(0.5, blocks + 0.5)
    y = area.upward(0.0, max(values) * 1.1 or 1.0)
    parts = [*_block_axis(area, x, blocks), *value_axis_upward(area, y, ticks(0.0, y.high), axis)]
    parts.extend(_joined_points(entry, x, y, index) for index, entry in enumerate(series))
    return area.svg(parts, f"{axis} by block") + legend([entry.name for entry in series])


def ratio_chart(rows: Sequence[RatioRow], *, margin: float) -> Markup:
    """Return ratios on a logarithmic axis with their intervals, each block's ratio, and the margin as a band."""
    numbers = [number for row in rows for number in (row.low, row.high, row.ratio, *row.points) if number]
    if not numbers:
        return no_data()
    reach = min(max(1 + 2 * margin, *(max(number, 1 / number) for number in numbers)) * 1.05, 1e3)
    area = Area(width=_WIDE, height=54 + _ROW_HEIGHT * len(rows), bottom=34)
    x = area.across(-math.log(reach), math.log(reach))
    parts = [_band(area, x, margin), *_ratio_axis(area, x, reach)]
    for index, row in enumerate(rows):
        parts.extend(_ratio_row(row, area, x, area.top + 20 + _ROW_HEIGHT * index, reach))
    return area.svg(parts, "Ratio to each other candidate, with its interval")


def _steps(known: Sequence[float], x: Scale, y: Scale, index: int, name: str) -> Markup:
    path = f"M{x.at(known[0])} {y.at(0)}"
    for number, value in enumerate(known, start=1):
        path += f"H{x.at(value)}V{y.at(number / len(known))}"
    return Markup('<path class="curve {}" d="{}"><title>{} ({} requests)</title></path>').format(
        series_class(index), path, name, len(known)
    )


def _block_axis(area: Area, x: Scale, blocks: int) -> Iterable[Markup]:
    every = max(1, math.ceil(blocks / 12))
    for block in range(1, blocks + 1, every):
        yield text(x.at(block), area.base + 16, str(block))
    yield text(area.middle, area.height - 6, "block", "axis-title")


def _joined_points(entry: Series, x: Scale, y: Scale, index: int) -> Markup:
    places = [(block, value) for block, value in enumerate(entry.values, start=1) if value is not None]
    points = " ".join(f"{x.at(block)},{y.at(value)}" for block, value in places)
    dots = Markup("").join(
        dot(x.at(block), y.at(value), 4, f"dot {series_class(index)}", f"{entry.name}, block {block}: {value:.3g}")
        for block, value in places
    )
    return Markup('<polyline class="thin {}" points="{}"/>').format(series_class(index), points) + dots


def _band(area: Area, x: Scale, margin: float) -> Markup:
    left, right = x.at(-math.log1p(margin)), x.at(math.log1p(margin))
    return Markup('<rect class="band" x="{}" y="{}" width="{}" height="{}"><title>margin</title></rect>').format(
        left, area.top, round(right - left, 1), area.base - area.top
    )


def _ratio_axis(area: Area, x: Scale, reach: float) -> Iterable[Markup]:
    yield line(x.at(0.0), area.top, x.at(0.0), area.base, "axis")
    taken: list[float] = []
    for mark in sorted(_RATIO_MARKS, key=lambda value: abs(math.log(value))):
        place = x.at(math.log(mark))
        if 1 / reach <= mark <= reach and all(abs(place - other) > _LEAST_MARK_GAP for other in taken):
            yield text(place, area.base + 14, f"{mark:g}")
            taken.append(place)
    yield text(area.middle, area.height - 4, "ratio; the grey band is the margin that does not matter", "axis-title")


def _ratio_row(row: RatioRow, area: Area, x: Scale, y: int, reach: float) -> Iterable[Markup]:
    def place(ratio: float) -> float:
        return x.at(math.log(min(max(ratio, 1 / reach), reach)))

    yield text(area.left, y - 8, row.label, "row-label", "start")
    for point in row.points:
        yield dot(place(point), y + 8, 3, "ghost", f"one block: {point:.3g}")
    if row.low is not None and row.high is not None:
        yield line(place(row.low), y + 8, place(row.high), y + 8, "interval")
    if row.ratio is not None:
        interval = "" if row.low is None or row.high is None else f", interval {row.low:.3g} to {row.high:.3g}"
        yield dot(place(row.ratio), y + 8, 5, "dot series-0", f"ratio {row.ratio:.3g}{interval}")
