"""Wall-clock stamps come onto the monotonic line, also across a step of the wall clock."""

from hypothesis import given
from hypothesis import strategies as st

from assay.load._stamps import ClockMap

_SECOND = 1_000_000_000


class _Clocks:
    """Two scripted clocks; each look costs 50 ns."""

    def __init__(self) -> None:
        self.now_ns = 5 * _SECOND
        self.offset_ns = 1_700_000_000 * _SECOND

    def monotonic_ns(self) -> int:
        self.now_ns += 50
        return self.now_ns

    def real_ns(self) -> int:
        return self.monotonic_ns() + self.offset_ns


def test_the_difference_is_measured_to_the_reading_time() -> None:
    clocks = _Clocks()
    assert abs(ClockMap(clocks.monotonic_ns, clocks.real_ns).offset_ns - clocks.offset_ns) <= 50


@given(step_ns=st.integers(-3600 * _SECOND, 3600 * _SECOND).filter(lambda step: abs(step) > 1_000_000))
def test_stamps_before_and_after_a_step_keep_their_place(step_ns: int) -> None:
    clocks = _Clocks()
    clock_map = ClockMap(clocks.monotonic_ns, clocks.real_ns)
    start_ns = clocks.monotonic_ns()
    before_ns = start_ns + 100_000
    stamp_before = before_ns + clocks.offset_ns
    clocks.now_ns += 400_000
    clocks.offset_ns += step_ns
    after_ns = clocks.monotonic_ns()
    stamp_after = after_ns + clocks.offset_ns
    clocks.now_ns += 100_000
    assert clock_map.observe()
    assert not clock_map.observe()
    for stamp, truth_ns in ((stamp_before, before_ns), (stamp_after, after_ns)):
        placed = clock_map.to_monotonic_ns(stamp, not_before_ns=start_ns - 100, not_after_ns=clocks.now_ns + 100)
        assert placed is not None
        assert abs(placed - truth_ns) <= 100


def test_a_stamp_from_nowhere_is_not_placed() -> None:
    clocks = _Clocks()
    clock_map = ClockMap(clocks.monotonic_ns, clocks.real_ns)
    assert clock_map.to_monotonic_ns(0, not_before_ns=0, not_after_ns=clocks.now_ns) is None


def test_a_slow_look_is_not_a_step() -> None:
    clocks = _Clocks()
    clock_map = ClockMap(clocks.monotonic_ns, clocks.real_ns)

    def slow_monotonic_ns() -> int:
        clocks.now_ns += 20_000_000 if clocks.now_ns < 6 * _SECOND else 0
        return clocks.monotonic_ns()

    clocks.now_ns = 5_995_000_000
    clock_map._monotonic_ns = slow_monotonic_ns
    assert not clock_map.observe()
