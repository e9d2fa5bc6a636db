"""The pieces of a chart: its area, scales, axes and text, as inline SVG."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

SERIES_COLOURS = 6
"""Number of ``series-n`` classes in the style sheet; more series take them in turn."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 14, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """The space of a chart, in units that come out near one pixel."""

    width: int
    height: int
    bottom: int = _BOTTOM
    """Room beneath the base line for ticks and title."""

    @property
    def left(self) -> int:
        """Where values begin."""
        return _LEFT

    @property
    def right(self) -> int:
        """Where values end."""
        return self.width - _RIGHT

    @property
    def top(self) -> int:
        """Upper end of the values."""
        return _TOP

    @property
    def base(self) -> int:
        """Lower end of the values."""
        return self.height - self.bottom

    @property
    def middle(self) -> float:
        """Middle of the values from left to right."""
        return (self.left + self.right) / 2

    def across(self, low: float, high: float) -> "Scale":
        """Return the scale of the horizontal axis."""
        return Scale(low, high, self.left, self.right)

    def upward(self, low: float, high: float) -> "Scale":
        """Return the scale of the vertical axis."""
        return Scale(low, high, self.base, self.top)

    def svg(self, parts: Iterable[Markup], label: str) -> Markup:
        """Return the finished drawing with its description for those who cannot see it."""
        return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
            self.width, self.height, label, Markup("").join(parts)
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to places along one axis."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def series_class(index: int) -> str:
    """Return the CSS class of the series at ``index``."""
    return f"series-{index % SERIES_COLOURS}"


def text(x: float, y: float, content: str, css: str = "tick", anchor: str = "middle") -> Markup:
    """Return a label."""
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(css, x, y, anchor, content)


def line(x1: float, y1: float, x2: float, y2: float, css: str) -> Markup:
    """Return a straight line."""
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(css, x1, y1, x2, y2)


def dot(x: float, y: float, radius: int, css: str, title: str) -> Markup:
    """Return a point that names itself in a tooltip."""
    return Markup('<circle class="{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>').format(
        css, x, y, radius, title
    )


def ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Return round values between ``low`` and ``high``: multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if span <= 0:
        return (low,)
    raw = span / count
    power: float = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw)
    first = math.ceil(low / step)
    return tuple(round(index * step, 12) for index in range(first, math.floor(high / step) + 1))


def value_axis_across(area: Area, scale: Scale, title: str) -> Iterable[Markup]:
    """Yield a horizontal axis of values."""
    yield line(area.left, area.base, area.right, area.base, "axis")
    for tick in ticks(scale.low, scale.high):
        yield text(scale.at(tick), area.base + 16, f"{tick:,g}")
    yield text(area.middle, area.height - 6, title, "axis-title")


def value_axis_upward(area: Area, scale: Scale, marks: Sequence[float], title: str) -> Iterable[Markup]:
    """Yield a vertical axis of values with its grid."""
    for mark in marks:
        yield line(area.left, scale.at(mark), area.right, scale.at(mark), "grid")
        yield text(area.left - 6, scale.at(mark) + 4, f"{mark:,g}", anchor="end")
    turned = Markup('<text class="axis-title" transform="translate(12 {}) rotate(-90)" text-anchor="middle">{}</text>')
    yield turned.format((area.top + area.base) / 2, title)


def legend(names: Sequence[str]) -> Markup:
    """Return the names of the series beside their colours."""
    items = Markup("").join(
        Markup('<li><span class="swatch {}"></span>{}</li>').format(series_class(index), name)
        for index, name in enumerate(names)
    )
    return Markup('<ul class="legend">{}</ul>').format(items)


def no_data() -> Markup:
    """Return what stands where a chart has nothing to show."""
    return Markup('<p class="quiet">No data.</p>')
