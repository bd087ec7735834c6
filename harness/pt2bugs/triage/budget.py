"""The time that a triage may take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

MIN_RUN_S = 5.0
"""Least seconds for which a run is started."""


@dataclass
class Budget:
    """Minutes for the whole, counted from its making."""

    minutes: float
    _began: float = field(default_factory=time.monotonic)
    _whole: Budget | None = None

    @property
    def spent_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def left_s(self) -> float:
        return self.minutes * 60 - self.spent_s

    @property
    def is_over(self) -> bool:
        return self.left_s < MIN_RUN_S

    def share(self, part: float) -> Budget:
        """Return a budget of its own for one step.

        Args:
            part: of what is left, at most 1.
        """
        return Budget(max(0.0, self.left_s * part) / 60, _whole=self)

    def exclude(self, seconds: float) -> None:
        """Do not count time that was spent on something else, such as installing an environment.

        Args:
            seconds: of it.
        """
        self._began += seconds
        if self._whole is not None:
            self._whole.exclude(seconds)

    def cap(self, seconds: float) -> float:
        """Return the seconds that a run may take, of what is left.

        Args:
            seconds: at most.
        """
        return max(1.0, min(seconds, self.left_s))
