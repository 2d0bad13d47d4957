"""Ratios of what was measured in turn, and what may be said of them: the only statistics of this folder.

Machines are shared and differ, so one figure is measured beside another within the same seconds, again and again, and
the ratios of such pairs are told. The interval is the percentile bootstrap's for the median.
"""
import random, statistics

RESAMPLES = 2000
# From the one that decides to the one that does not.
VERDICTS = ["worse", "cannot tell", "equal", "better"]


class Ratios:
    """Ratios of pairs, in one list for each restart of what is measured: two processes of one program can differ for
    good, so restarts are resampled first, and then the pairs of each."""

    def __init__(self, *restarts):
        self.restarts = [restart for restart in restarts if restart]
        every = [ratio for restart in self.restarts for ratio in restart]
        self.pairs = len(every)
        self.median = statistics.median(every)
        self.low, self.high = self._interval()

    def _interval(self):
        """With 95 % confidence."""
        dice = random.Random(1)

        def resampled():
            restarts = dice.choices(self.restarts, k=len(self.restarts))
            return [ratio for restart in restarts for ratio in dice.choices(restart, k=len(restart))]

        medians = sorted(statistics.median(resampled()) for _ in range(RESAMPLES))
        return medians[round(RESAMPLES * 0.025)], medians[round(RESAMPLES * 0.975) - 1]

    def verdict(self, more_is_better, tolerance):
        """Whether the first of each pair is better than the second, or worse by more than the tolerance."""
        low, high = (1 / self.high, 1 / self.low) if more_is_better else (self.low, self.high)
        if high <= 1 + tolerance:
            return "better" if high < 1 else "equal"
        return "worse" if low > 1 + tolerance else "cannot tell"

    def __str__(self):
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}]"


def markdown(rows):
    """A table; its first row is the head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0])] + lines[1:])
