"""The workflows of docs/ci, step by step as far as a machine of one's own goes: what they run, and what comes out."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from fake_torch import build_wheels, serve_index, write_backend
from matrix_project import CHECK
from pt2bugs.cli import main
from suite import case_text

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "guides" / "ci"
NIGHTLY = "2.7.0.dev20260102"
RELEASES = {"2.5.1": {"old": "wrong"}, "2.6.0": {"ends": "abort"}, "2.7.0.dev20260101": {}, NIGHTLY: {"old": "raise"}}
BUG = {"torch": "<2.6", "outcome": "wrong", "error": "AssertionError", "match": "not close"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    wheels = build_wheels(tmp_path_factory.mktemp("wheels"), RELEASES)
    with serve_index(wheels, tmp_path_factory.mktemp("index")) as url:
        yield url


class Job:
    """A job of a workflow: a checkout of its own, in which the steps that run something are run as GitHub does."""

    def __init__(self, folder: Path, checkout: Path, file: str, name: str) -> None:
        self.folder = folder
        shutil.copytree(checkout, folder)
        workflow: dict[Any, Any] = yaml.safe_load((FOLDER / file).read_text())
        job = workflow["jobs"][name]
        # Those that install and push are not for here.
        steps = [step for step in job["steps"] if "run" in step and step.get("name") != "commit"]
        self.scripts = [step["run"] for step in steps if "pip install" not in step["run"]]
        self.env = {**workflow.get("env", {}), **job.get("env", {})}

    def run(self, **env: str) -> list[subprocess.CompletedProcess[str]]:
        """Every step, to its end, whatever the one before it said."""
        tools = self.folder.parent / "bin"
        tools.mkdir(exist_ok=True)
        command = tools / "pt2bugs"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m pt2bugs "$@"\n')
        command.chmod(0o755)
        files = {name: str(self.folder.parent / f"{self.folder.name}-{name}") for name in ("output", "summary")}
        given = {
            **{name: str(value) for name, value in self.env.items()},
            **env,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "GITHUB_OUTPUT": files["output"],
            "GITHUB_STEP_SUMMARY": files["summary"],
            "GITHUB_WORKSPACE": str(self.folder),
            "PT2BUGS_HOME": str(self.folder.parent / "home"),
            "PIP_CONFIG_FILE": os.devnull,
        }
        assert not [value for value in given.values() if "${{" in value], "an expression that is not filled in"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
        return [
            subprocess.run(
                ["bash", "-e", "-c", script], cwd=self.folder, env={**kept, **given}, capture_output=True, text=True,
                check=False, timeout=240,
            )
            for script in self.scripts
        ]  # fmt: skip

    @property
    def output(self) -> Mapping[str, str]:
        lines = (self.folder.parent / f"{self.folder.name}-output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def summary(self) -> str:
        return (self.folder.parent / f"{self.folder.name}-summary").read_text()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    cases = tmp_path / "checkout" / "cases" / "dynamo"
    cases.mkdir(parents=True)
    (cases / "old.py").write_text(case_text(CHECK.format(name="old"), bugs=[BUG]))
    (cases / "ends.py").write_text(case_text(CHECK.format(name="ends")))
    (tmp_path / "checkout" / "results" / "journal").mkdir(parents=True)
    return tmp_path / "checkout"


def test_plan_shards_merge_page(
    tmp_path: Path, checkout: Path, index: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"TORCH": "minors", "SHARDS": "2", "OPTIONS": f"--index {index}"}
    plan = Job(tmp_path / "plan", checkout, "matrix.yml", "plan")
    (done,) = plan.run(**given)
    assert done.returncode == 0, done.stderr
    shards = json.loads(plan.output["shards"])
    assert [(shard["number"], shard["cells"], shard["environments"]) for shard in shards] == [
        (1, 2, ["torch 2.5.1"]), (2, 2, ["torch 2.6.0"]),
    ]  # fmt: skip
    assert all(shard["minutes"] > 0 and shard["gigabytes"] > 0 and shard["cache"] for shard in shards)

    merge = Job(tmp_path / "merge", checkout, "matrix.yml", "merge")
    for shard in shards:
        job = Job(tmp_path / f"shard-{shard['number']}", checkout, "matrix.yml", "shard")
        (done,) = job.run(**given, SHARD=shard["shard"])
        commands = [line for line in done.stdout.splitlines() if line.startswith("::")]
        if shard["number"] == 1:
            assert (done.returncode, commands) == (0, []), done.stderr
            assert "All cells are as expected." in job.summary
        else:
            (command,) = commands
            assert done.returncode == 1
            assert re.match(r"::error file=cases/dynamo/ends\.py,line=\d+,title=torch 2\.6\.0 ends%3A fail::", command)
            assert "1 of 2 cells are not as expected." in job.summary
        shutil.copytree(job.folder / "lines", merge.folder / "shards" / f"shard-{shard['number']}")

    for done in merge.run(**given):
        assert done.returncode == 0, done.stderr
    with (merge.folder / "results" / "matrix.csv").open(newline="") as file:
        rows = {row["case"]: (row["2.5.1"], row["2.6.0"]) for row in csv.DictReader(file)}
    assert rows == {"ends": ("pass", "fail"), "old": ("xfail:wrong", "pass")}
    assert len(ElementTree.parse(merge.folder / "junit.xml").findall(".//testcase")) == 4
    assert "torch 2.6.0" in (merge.folder / "site" / "index.html").read_text()
    assert "ends" in (merge.folder / "site" / "news.xml").read_text()
    assert "## torch 2.6.0: 1 broken, 1 fixed" in merge.summary

    # The next day: everything is answered, so no machine is started.
    monkeypatch.chdir(merge.folder)
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_")) and name != "PIP_CONFIG_FILE"]:
        monkeypatch.delenv(name)
    asked = ["--torch", "minors", "--index", index]
    assert main(["plan", *asked, "--shards", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["plan", *asked, "--shards", "2", "--rerun"]) == 0
    table = capsys.readouterr()
    assert f"{shards[0]['shard']}       2" in table.out, "and the division is what it was"
    other = shards[1]["shard"].replace("2/2", "2/3")
    assert main(["run", *asked, "--shard", other]) == 2
    assert "the selection has changed since it was planned" in capsys.readouterr().err


def test_a_day(tmp_path: Path, checkout: Path, index: str) -> None:
    job = Job(tmp_path / "daily", checkout, "daily.yml", "daily")
    assert job.env.pop("INDEXES") == "${{ vars.NEXT_TORCH_INDEXES }}"
    del job.scripts[1:]  # the news of a job are those of the other one
    (run,) = job.run(INDEXES=index)
    assert run.returncode == 1, run.stderr
    assert f"title=torch {NIGHTLY} old%3A fail::" in run.stdout
    assert "2.7.0.dev20260101" not in run.stdout + run.stderr, "the newest nightly alone"
    assert "1 of 2 cells are not as expected." in job.summary


KNOWN = """\
[[accepted]]
case = "old"
backend = "mine"
outcome = "raise"
message = "cannot compile old"
"""


def test_a_night_of_a_vendor(tmp_path: Path, checkout: Path, index: str) -> None:
    """The wheel has a failure that the baseline has, and another one."""
    cases = (checkout / "cases").rename(tmp_path / "cases")
    (checkout / "known.toml").write_text(KNOWN)
    (checkout / "dist").mkdir()
    write_backend(checkout / "dist", "mine", {"old": "raise", "ends": "wrong"})
    options = f"--import mine --index {index} --cases {cases} --baseline known.toml --results results"
    given = {"PT2BUGS": "pt2bugs", "TORCH": "2.5.1", "OPTIONS": options}
    report = Job(tmp_path / "report", checkout, "vendor.yml", "report")
    job = Job(tmp_path / "part", checkout, "vendor.yml", "part")
    measured, collected = job.run(**given, SHARD="1/1")
    assert measured.returncode == 1, measured.stderr
    assert "title=new%3A ends" in measured.stdout
    assert "old" not in measured.stdout
    assert collected.returncode == 0, collected.stderr
    shutil.copytree(job.folder / "results", report.folder / "parts" / "part-1")
    for done in report.run(**given):
        assert done.returncode == 0, done.stderr
    (run,) = json.loads((report.folder / "pt2bugs.sarif").read_text())["runs"]
    (alert,) = run["results"]
    assert alert["ruleId"] == run["tool"]["driver"]["rules"][alert["ruleIndex"]]["id"] == "ends"
    place = alert["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "known.toml"}, "region": {"startLine": 1}}
    assert "| new | [ends::test_ends" in report.summary
    assert "old" not in report.summary


@pytest.mark.parametrize("file", ["matrix.yml", "daily.yml", "vendor.yml"])
def test_the_page_shows_the_file(file: str) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "guides" / "ci.md").read_text(), re.DOTALL)
    assert (FOLDER / file).read_text() in blocks, f"docs/guides/ci.md does not show docs/guides/ci/{file} as it is"


@pytest.mark.parametrize("file", ["matrix.yml", "daily.yml", "vendor.yml"])
def test_what_a_step_needs_is_there(file: str) -> None:
    """Jobs and steps that expressions name exist, and every command parses."""
    text = (FOLDER / file).read_text()
    jobs = yaml.safe_load(text)["jobs"]
    for needed, output in re.findall(r"needs\.(\w+)\.outputs\.(\w+)", text):
        assert output in jobs[needed]["outputs"]
    for step, output in re.findall(r"steps\.(\w+)\.outputs\.(\w+)", text):
        (chosen,) = [known for job in jobs.values() for known in job["steps"] if known.get("id") == step]
        assert f'"{output}=' in chosen["run"]
    keys = ("shard", "number", "cache", "part")
    assert set(re.findall(r"matrix\.(\w+)", text)) <= set(keys)


def test_the_notes_of_a_release_are_those_of_its_version(tmp_path: Path) -> None:
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    (step,) = (step for step in workflow["jobs"]["release"]["steps"] if "notes" in step.get("name", ""))
    command = ["bash", "-e", "-c", step["run"]]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "GITHUB_REF_NAME": "v0.2.0"}, check=True)
    assert (tmp_path / "notes.md").read_text(encoding="utf-8").strip().startswith("- The package, the distribution")
    missing = subprocess.run(command, cwd=tmp_path, env={**os.environ, "GITHUB_REF_NAME": "v9.9.9"}, check=False)
    assert missing.returncode != 0
