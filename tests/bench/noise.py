"""How fast and noisy the machine is meanwhile: the time of a loop that is always the same."""

from statistics import median
from time import perf_counter, process_time

_TURNS = 400_000
# on the cores that the budgets of time are for
_EXPECTED_MS = 10


class Probe:
    """A fixed loop, timed before each round."""

    def __init__(self) -> None:
        self.waited: list[float] = []
        self.worked: list[float] = []

    def time_loop(self) -> None:
        began, used = perf_counter(), process_time()
        total = 0
        for number in range(_TURNS):
            total += number % 7
        self.waited.append(1000 * (perf_counter() - began))
        self.worked.append(1000 * (process_time() - used))

    def __str__(self) -> str:
        """In words: the loop's processor time, its spread, and how long it was kept waiting."""
        low, middle, high = min(self.worked), median(self.worked), max(self.worked)
        kept = sum(self.waited) / sum(self.worked)
        return (
            f"the same loop {len(self.worked)} times: {middle:.0f} ms of processor time "
            f"({low:.0f} to {high:.0f}), and {kept:.2f} times as long by the clock. "
            f"Budgets of time are for cores on which it takes {_EXPECTED_MS} ms"
        )
