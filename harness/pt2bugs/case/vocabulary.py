"""The words of the corpus: components, symptoms, outcomes, verdicts. Use these and no others."""

from __future__ import annotations

from enum import Enum

COMPONENTS = (
    "dynamo",
    "aotautograd",
    "functionalization",
    "fake-tensor",
    "dynamic-shapes",
    "decomposition",
    "inductor",
    "export",
    "functorch",
    "fx",
    "backend",
    "higher-order-ops",
    "custom-op",
    "aot-inductor",
    "quantization",
)


SYMPTOMS = (
    "graph-break",
    "backend-failure",
    "recompilation",
    "wrong-result",
    "internal-error",
    "crash",
    "hang",
    "memory",
    "triton",
    "missing-error",
)


DEMANDS = (
    "training",
    "mutation",
    "aliasing",
    "dynamic-shapes",
    "subclass",
    "complex",
    "autocast",
    "custom-op",
    "control-flow",
    "randomness",
)
"""Abilities that a check may demand of a backend."""

KINDS = ("bug", "limitation", "missing-feature", "by-design")
"""Kinds of issues."""

UPSTREAM = ("open", "closed")
"""The state of an issue where it was reported."""

EXTRAS = ("turbine",)
"""Optional environments that a case may need; `pt2bugs.envs.extras` has their packages."""

TORCH_BACKENDS = ("eager", "aot_eager", "aot_autograd_nop", "aot_eager_decomp_partition", "inductor")
"""Backends that torch has, or has the parts of: a package beside torch is not what they come with."""

PARAMETERS = ("device", "backend")
"""Parameters that a check may take."""

COUNTED = "a case documents one bug with its checks; a cell is a check in one environment, on one device and backend"
"""Explains the counted words where both are shown."""


def number_of(count: int, noun: str) -> str:
    """Return how many there are of something: ``1 case``, ``2 cases``.

    Args:
        count: of them.
        noun: in the singular; its plural ends in s.
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


class Outcome(str, Enum):
    """The outcome of a cell."""

    PASS = "pass"
    WRONG = "wrong"  # the check's own oracle failed
    RAISE = "raise"  # an exception from torch left the check
    CRASH = "crash"  # died by a signal, or left without reporting
    TIMEOUT = "timeout"
    OOM = "oom"
    SKIP = "skip"  # cannot apply here: device or API absent
    ERROR = "error"  # the environment or the harness is at fault, never the bug

    __str__ = str.__str__


class Verdict(str, Enum):
    """The outcome against what the case expects."""

    PASS = "pass"
    XFAIL = "xfail"  # the documented bug, with its documented identity
    XPASS = "xpass"  # expected to fail, passed
    FAIL = "fail"  # anything else bad, also a different failure than the documented one
    SKIP = "skip"
    ERROR = "error"
    FLAKY = "flaky"  # repeats disagree

    __str__ = str.__str__


FAILURES = frozenset({Outcome.WRONG, Outcome.RAISE, Outcome.CRASH, Outcome.TIMEOUT, Outcome.OOM})
"""Outcomes that a bug can have."""


EXPECTED = frozenset({Verdict.PASS, Verdict.XFAIL, Verdict.SKIP})
"""Verdicts that need no attention."""
