"""Workarounds of a failure: settings that were tried on the program, whether it passes, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage.ladder import INSIDE_INDUCTOR, LAYERS, NO_DECOMPOSITION, Ladder
from pt2bugs.triage.since_when import Releases

_RUNGS = {
    "dynamic_false": "torch.compile(..., dynamic=False)",
    "dynamic_true": "torch.compile(..., dynamic=True)",
    **{layer: f'torch.compile(..., backend="{layer}")' for layer in LAYERS[1:-1]},
    "mode_reduce_overhead": 'torch.compile(..., mode="reduce-overhead")',
    "mode_max_autotune": 'torch.compile(..., mode="max-autotune-no-cudagraphs")',
    **{
        rung: f"{name} = {value}"
        for rung, redirect in INSIDE_INDUCTOR.items()
        for name, value in redirect.get("config", {}).items()
    },
    NO_DECOMPOSITION: "the operator's own kernel in the place of its decomposition",
}
"""The rungs of the ladder that a user can have, and how each is written."""


@dataclass(frozen=True)
class Workaround:
    """Something that was tried. `graphs` and `breaks` are what Dynamo counted with it, None where nothing was."""

    what: str
    passes: bool
    graphs: int | None = None
    breaks: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "passes": self.passes, "graphs": self.graphs, "breaks": self.breaks}


def workarounds(ladder: Ladder, releases: Releases | None) -> list[Workaround]:
    """Return what was tried, what passes first; nothing where the failure is not the compiler's.

    Args:
        ladder: The rungs that were tried.
        releases: Answers of other releases, if they were asked.
    """
    if not ladder.first_failing or ladder.first_failing == "none":
        return []
    tried = [
        Workaround(_RUNGS[step.rung], step.identity.outcome is Outcome.PASS, step.trial.graphs, step.trial.breaks)
        for step in ladder.steps
        if step.rung in _RUNGS and step.trial is not None and step.identity.outcome is not Outcome.SKIP
    ]
    if releases is not None:
        for name, answer in releases.answers.items():
            run = answer.trial
            if run is not None and answer.identity.outcome is Outcome.PASS:
                tried.append(Workaround(f"torch {name}", passes=True, graphs=run.graphs, breaks=run.breaks))
    return sorted(tried, key=lambda workaround: not workaround.passes)
