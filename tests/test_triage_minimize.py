"""Step 5: what a smaller program must show."""

from __future__ import annotations

import venv
from pathlib import Path

from fake_torch import write_torch
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.ladder import Climber
from pt2bugs.triage.minimize import Interesting
from pt2bugs.triage.program import load_program
from pt2bugs.triage.reproduce import reproduce
from pt2bugs.triage.trial import laboratory

PROGRAM = """
import torch


def double(x):
    return x * 2


def compare(backend):
    x = torch.arange(4)
    torch.testing.assert_close(torch.compile(double, backend=backend)(x), double(x))


compare("inductor")
"""


def test_it_asks_for_a_backend_that_fails_as_written(tmp_path: Path) -> None:
    """On a rung any backend is replaced; what is handed over is run as it is."""
    venv.create(tmp_path / "env", symlinks=True, with_pip=False)
    (site,) = (tmp_path / "env").glob("lib/python3.*/site-packages")
    write_torch(site, "2.90.0", {"inductor:double": "raise"})
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    program = load_program(path)
    with laboratory(tmp_path / "env" / "bin" / "python", Budget(2), 60, ()) as lab:
        found = reproduce(lab, program, 1)
        asks = Interesting(lab, tmp_path, found, Climber(lab, program, found, lambda _: None, inside=False).climb())
        assert asks(PROGRAM)
        assert asks(PROGRAM.replace(", backend=backend", ""))
        assert not asks(PROGRAM.replace('compare("inductor")', "compare(0)"))
