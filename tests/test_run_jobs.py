"""Several jobs over real environments of a fake torch: who takes which cell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from matrix_project import Project
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.corpus import load_cases
from pt2bugs.engine.client import Engine
from pt2bugs.envs.environment import Key
from pt2bugs.envs.sources import Sources
from pt2bugs.envs.store import Store
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import Record
from pt2bugs.run.plan import RunOptions, Target, Work
from pt2bugs.run.runner import CellQueue, Progress, Runner


class TestJobs:
    @pytest.fixture
    def cells(self, project: Project) -> list[Cell]:
        for number in range(6):
            project.case(f"more_{number}", backends=["inductor", "eager"] if number % 2 else ["eager"])
        project.case("endless", symptom="hang", backends=["eager"])
        cases = load_cases([project.folder / "cases"])
        return [cell for case in cases for cell in cells_of(case, (), ())]

    @pytest.fixture
    def store(self, project: Project, home: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        monkeypatch.setenv("PT2BUGS_HOME", str(home))
        monkeypatch.delenv("UV_CACHE_DIR", raising=False)
        return Store(Sources(index=project.index, find_links=()))

    def target(self, project: Project, torch: str) -> Target:
        return Target(Key(torch, f"{sys.version_info.major}.{sys.version_info.minor}", index=project.index))

    @pytest.mark.parametrize("jobs", [2, 5])
    def test_of_one_environment_share_its_cells(
        self, project: Project, store: Store, cells: list[Cell], jobs: int
    ) -> None:
        told: list[Record] = []
        results = Results(project.folder / "results")
        runner = Runner(results, store, RunOptions(jobs=jobs), Progress(advance=told.append))
        (work,) = runner.run([Work(self.target(project, "2.6.0"), cells)])
        assert work.failure == ""
        names = sorted((cell.case.id, cell.check.name, cell.backend) for cell in cells)
        assert sorted((line["case"], line["check"], line["backend"]) for line in project.lines) == names
        assert sorted((line["case"], line["check"], line["backend"]) for line in told) == names, "told once each"

    def test_help_with_the_last_environment(
        self, project: Project, store: Store, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With three environments and two jobs, the one that is free first takes cells of the last."""
        runner = Runner(Results(project.folder / "results"), store, RunOptions(jobs=2), Progress())
        for path in {cell.case.path for cell in cells}:
            path.write_text(
                path.read_text().replace("    x = torch", "    import time; time.sleep(0.5)\n    x = torch")
            )
        # One cell in the first two, so that the last is alone for long.
        work = [
            Work(self.target(project, torch), owed)
            for torch, owed in (("2.5.0", cells[:1]), ("2.5.1", cells[:1]), ("2.6.0", cells))
        ]
        opened: list[str] = []
        connect = Engine.connect

        def counted(engine: Engine) -> Any:
            opened.append(engine.settings.python.parent.parent.name.split("-")[1])
            return connect(engine)

        monkeypatch.setattr(Engine, "connect", counted)
        runner.run(work)
        assert sorted(opened) == ["2.5.0", "2.5.1", "2.6.0", "2.6.0"], "and none is opened for nothing"
        assert len(project.lines) == len(cells) + 2

    def test_begin_apart(self, cells: list[Cell]) -> None:
        queue = CellQueue.of(cells)
        order = list(queue.cells)
        assert order[-1].case.id == "endless", "what may hang does so while others run"
        backends = [cell.backend for cell in order[:-1]]
        assert backends == sorted(backends)
        assert (queue.take(from_the_end=True), queue.take(from_the_end=False)) == (order[-1], order[0])

    def test_every_cell_is_taken_once(self, cells: list[Cell]) -> None:
        queue = CellQueue.of(cells)
        taken: list[tuple[str, ...]] = []
        while (cell := queue.take(from_the_end=len(taken) % 3 == 1)) is not None:
            taken.append(cell.key)
        assert sorted(taken) == sorted(cell.key for cell in cells)
