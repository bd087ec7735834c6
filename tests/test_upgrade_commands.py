"""`pt2bugs upgrade` and `pt2bugs exposure` over real environments, made by real uv from wheels of two fake torches."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fake_torch import build_wheels, serve_index, write_backend
from matrix_project import Project
from suite import case_text
from test_isolate_isolation import CHECK, OLD, new
from test_upgrade_exposure import CLAMP, PROGRAM, isolation

BUG = {"torch": "<2.91", "outcome": "wrong", "error": "AssertionError", "match": "row -3 gives loaded"}
BREAKS = """
import torch


def mine(x):
    return x * 2


result = torch.compile(mine)(torch.arange(3))
assert result.values == [0, 2, 4], f"wrong: {result.values}"
print("done")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("project")
    files = {"2.90.0": {"lowering.py": OLD}, "2.91.0": {"lowering.py": new(CLAMP)}}
    # The release before it has the same text of `clamp`; of `decoy` it has another.
    files["2.89.0"] = {"lowering.py": OLD.replace("def decoy(row):", "def decoy(row, *_):")}
    files["2.92.0"] = {"lowering.py": OLD}
    releases: dict[str, dict[str, str]] = {"2.89.0": {}, "2.90.0": {}, "2.91.0": {"mine": "wrong"}, "2.92.0": {}}
    wheels = build_wheels(folder / "wheels", releases, files)
    write_backend(wheels, "only_old", {}, requires="torch<2.91")
    with serve_index(wheels, folder / "index") as index:
        project = Project(folder, folder / "home", index)
        (folder / "cases" / "dynamo" / "row.py").write_text(case_text(CHECK, bugs=[BUG]))
        fixes = folder / "results" / "fixes" / "row.json"
        fixes.parent.mkdir(parents=True)
        for case in ("other", "back"):
            (folder / "cases" / "dynamo" / f"{case}.py").write_text(case_text(CHECK, bugs=[BUG]))
        # In 2.92.0 the bug is there again: the units that brought it back are those of 2.91.0 the other way round.
        back = {"bad": "2.92.0", "good": "2.91.0", "direction": "introduced"}
        told = [isolation("row", "clamp"), isolation("other", "decoy"), {**isolation("back", "clamp"), **back}]
        fixes.write_text(json.dumps({"schema": 1, "isolations": told}))
        (folder / "rows.py").write_text(PROGRAM)
        (folder / "breaks.py").write_text(BREAKS)
        yield project


def run(project: Project, *arguments: str) -> tuple[int, str, str]:
    done = project.run(*arguments, "--index", project.index)
    return done.returncode, done.stdout, done.stderr


def test_exposure(project: Project) -> None:
    status, stdout, stderr = run(project, "exposure", "rows.py", "--torch", "2.90.0", "--json")
    assert status == 1, stderr
    answer = json.loads(stdout)
    levels = {bug["case"]: bug["level"] for bug in answer["bugs"] if bug["units"]}
    assert (answer["torch"], levels) == ("2.90.0", {"row": "bites", "other": "same"})
    status, stdout, stderr = run(project, "exposure", "rows.py", "--torch", "2.91.0")
    assert (status, "bites" in stdout) == (0, False), stderr
    assert "No match is not proof" in stdout
    status, _, stderr = run(project, "exposure", "absent.py", "--torch", "2.90.0")
    assert (status, stderr) == (2, "pt2bugs: absent.py: there is no such file\n")


def test_a_move_that_breaks(project: Project) -> None:
    move = ("upgrade", "breaks.py", "--from", "2.90.0", "--to", "2.91.0")
    status, stdout, stderr = run(project, *move, "-o", "out", "--json")
    assert status == 1, stderr
    told = json.loads(stdout)
    assert (told["from"], told["to"]) == ("2.90.0", ["2.91.0"])
    assert [run["outcome"] for run in told["runs"]] == ["pass", "wrong"]
    assert [(entry["case"], entry["where"]) for entry in told["breaks_for_you"]] == [(None, "line 10")]
    assert json.loads((project.folder / "out" / "upgrade.json").read_text()) == told
    for name in ("upgrade.md", "index.html"):
        assert "fails on torch 2.91.0" in (project.folder / "out" / name).read_text()


def test_a_package_of_another_build_of_torch_breaks_nothing(project: Project) -> None:
    """Its library is not loaded on the newer release, so that nothing of the program could be run there."""
    lost = 'if torch.__version__ == "2.91.0":\n    raise RuntimeError("operator vision::nms does not exist")\n'
    (project.folder / "built.py").write_text(
        BREAKS.replace("mine", "fine").replace("import torch\n", f"import torch\n{lost}")
    )
    status, stdout, stderr = run(project, "upgrade", "built.py", "--from", "2.90.0", "--to", "2.91.0")
    assert (status, stdout) == (2, ""), stderr
    why = "another build of torch: install both from one index (operator vision::nms does not exist)"
    assert why in stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["upgrade", "exposure"])
def test_a_program_that_is_another_in_its_next_run(project: Project, command: str) -> None:
    """Edited while it was asked about, it was said to break on the newer release, or nothing was said and exit 0."""
    (project.folder / "itself.py").write_text(f"{PROGRAM}\nopen(__file__, 'a').write('# more')\n")
    move = ("--from", "2.90.0", "--to", "2.91.0") if command == "upgrade" else ("--torch", "2.90.0")
    status, stdout, stderr = run(project, command, "itself.py", *move)
    assert (status, stdout) == (2, ""), stderr
    assert stderr.splitlines()[-1].endswith("itself.py: was edited or removed since its first run; ask again")


def test_a_program_may_write_a_checkpoint(project: Project) -> None:
    """The limit of 1 GiB that holds for a cell was an error of the program, in each release alike."""
    large = "import os\nos.truncate(os.open('large', os.O_CREAT | os.O_WRONLY), (1 << 30) + 1)\nos.unlink('large')\n"
    (project.folder / "writes.py").write_text(f"{large}{BREAKS.replace('mine', 'fine')}")
    status, stdout, stderr = run(project, "upgrade", "writes.py", "--from", "2.90.0", "--to", "2.91.0")
    assert (status, "Not known: nothing" in stdout) == (0, True), (stdout, stderr)


def test_what_a_move_fixes(project: Project) -> None:
    status, stdout, stderr = run(project, "upgrade", "rows.py", "--from", "2.90.0", "--to", "2.91.0")
    assert status == 0, stderr
    assert "Fixed for you: 1\n  prints another text than eager (row -3: loaded)" in stdout
    assert stdout.index("Breaks for you: nothing") < stdout.index("Fixed for you")


def test_a_move_that_brings_a_bug_back(project: Project) -> None:
    """Asked the other way round: the program is run on the release with the bug, with the units of the one before."""
    status, stdout, stderr = run(project, "upgrade", "rows.py", "--from", "2.91.0", "--to", "2.92.0", "--json")
    assert status == 1, stderr
    told = json.loads(stdout)
    assert [entry["case"] for entry in told["breaks_for_you"]] == ["back"]
    assert not told["fixed_for_you"]
    levels = [(told["torch"], bug["case"], bug["direction"]) for told in told["exposure"] for bug in told["bugs"]]
    assert levels == [("2.92.0", "back", "introduced")]


def test_a_fix_in_a_release_before_the_one_where_it_was_isolated(project: Project) -> None:
    """It is tried where its units have the same old text there; else the command that asks elsewhere is named."""
    assert project.run("run", "row", "other", "--torch", "2.89.0", "--index", project.index).returncode == 0
    assert project.run("envs", "create", "--torch", "2.90.0", "--index", project.index).returncode == 0
    asked = ("exposure", "rows.py", "--torch", "2.89.0", "--json", "--index", project.index, "--", "a b")
    done = project.run(*asked)
    assert done.returncode == 1, done.stderr
    bugs = {bug["case"]: bug for bug in json.loads(done.stdout)["bugs"]}
    assert bugs["row"]["level"] == "bites"
    assert bugs["other"]["level"] == "unknown"
    command = "pt2bugs exposure rows.py --torch 2.90.0 -- 'a b'"
    assert bugs["other"]["what"] == f"isolated in torch 2.90.0: `{command}` asks there"


def test_two_interpreters_and_a_file_of_requirements(project: Project) -> None:
    for release in ("2.90.0", "2.91.0"):
        assert project.run("envs", "create", "--torch", release, "--index", project.index).returncode == 0
    environments = project.folder / "home" / "envs"
    pythons = [str(next(environments.glob(f"torch-{release}-*/bin/python"))) for release in ("2.90.0", "2.91.0")]
    status, stdout, stderr = run(project, "upgrade", "breaks.py", "--python-exe", *pythons, "--json")
    assert status == 1, stderr
    assert stdout, stderr
    assert [run["torch"] for run in json.loads(stdout)["runs"]] == ["2.90.0", "2.91.0"]
    (project.folder / "requirements.txt").write_text("torch==2.90.0  # ours\nonly_old\n")
    (project.folder / "imports.py").write_text(f"import only_old\n{PROGRAM}")
    asked = ("upgrade", "imports.py", "--requirements", "requirements.txt")
    status, stdout, stderr = run(project, *asked, "--from", "2.89.0", "--to", "2.90.0", "--json")
    assert status == 0, stderr
    assert "requirements.txt:1: torch==2.90.0 is left out: the release of torch is the question" in stderr
    assert [run["outcome"] for run in json.loads(stdout)["runs"]] == ["pass", "pass"]
    # Its package is for the older release alone, and of this program no graph is captured that could be replayed.
    status, stdout, stderr = run(project, *asked, "--from", "2.90.0", "--to", "2.91.0")
    assert (status, stdout) == (2, ""), stderr
    assert "torch 2.91.0: nothing could be run there: its packages do not resolve" in stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--from 2.91.0 --to 2.90.0", "each must be newer"),
        ("--from 2.90.0", "name the releases with --from and --to"),
        ("--from 2.90.0 --to 9.9", "9.9"),
        ("--from 2.90.0 --to 2.91.0 --with absent-package", "torch 2.90.0: nothing could be run there"),
    ],
)
def test_moves_that_cannot_be_asked(project: Project, arguments: str, message: str) -> None:
    status, stdout, stderr = run(project, "upgrade", "rows.py", *arguments.split())
    assert (status, stdout, message in stderr.splitlines()[-1]) == (2, "", True), stderr
