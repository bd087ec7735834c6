"""Bisections over real environments, made by real uv from wheels of a fake torch on local indexes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_torch import build_wheels, serve_index
from matrix_project import Project
from packaging.version import Version
from pt2bugs.bisect.search import budget
from pt2bugs.cli import command_parser, main
from pt2bugs.commands.options import options_of
from pt2bugs.envs.releases import Release, range_of
from seeded import BLOCKED, BUG, git_of, write_case, write_journal
from suite import case_text

MINORS = [f"2.{minor}.0" for minor in range(20, 36)]


def span(first: int, last: int, fault: str, name: str) -> dict[str, dict[str, str]]:
    """The releases of 2.`first` to 2.`last`, in which the function of that name fails."""
    return {release: {name: fault} for release in MINORS if first <= Version(release).minor <= last}


def merged(*spans: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {release: {k: v for part in spans for k, v in part.get(release, {}).items()} for release in MINORS}


RELEASES = merged(
    span(20, 28, "wrong", "fixed"),
    span(24, 29, "wrong", "passing"),
    span(20, 35, "wrong", "always"),
    span(20, 23, "wrong", "early"),
    span(24, 30, "abort", "early"),
    # The canary's own function: nothing compiles in this release.
    span(30, 30, "raise", "program"),
)
WRONG = {"outcome": "wrong", "error": "AssertionError", "match": "not close"}


RANGE = ">=2.23,<2.32"


def bug(torch: str) -> list[dict[str, Any]]:
    return [{"torch": torch, **WRONG}]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheels(tmp_path_factory.mktemp("wheels"), RELEASES)


@pytest.fixture(scope="module")
def index(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_index(wheels, tmp_path_factory.mktemp("index")) as url:
        yield url


@pytest.fixture
def project(tmp_path: Path, home: Path, index: str) -> Project:
    project = Project(tmp_path, home, index)
    for path in (tmp_path / "cases").rglob("*.py"):
        path.unlink()
    project.environ["PIP_CONFIG_FILE"] = os.devnull
    return project


def bisect(project: Project, *arguments: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    done = project.run("bisect", *arguments, "--index", project.index, "--json")
    return done, json.loads(done.stdout)


def windows(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(change["kind"], change["before"], change["after"]) for change in answer["transitions"]]


def test_one_check_from_an_empty_journal(project: Project) -> None:
    fix = "https://github.com/pytorch/pytorch/pull/7"
    project.case("fixed", bugs=bug("<2.29"), fix=fix)
    done = project.run("bisect", "fixed", "--index", project.index)
    assert done.returncode == 0, done.stderr
    gits = {line["torch"]: line["torch_git"] for line in project.lines}
    assert "fixed between torch 2.28.0 and 2.29.0" in done.stdout
    assert f"https://github.com/pytorch/pytorch/compare/{gits['2.28.0']}...{gits['2.29.0']}" in done.stdout
    assert f"documented fix: {fix} (fits what the case file says)" in done.stdout
    assert "reproduce: pt2bugs run fixed --torch 2.28.0 --device cpu --backend inductor" in done.stdout
    assert len(gits) <= budget(16)
    assert "fixed between torch 2.20.0 and 2.35.0, 14 releases between" in done.stderr
    assert f"{len(gits)} cells in {len(gits)} environments" in done.stderr

    again = project.run("bisect", "fixed", "--index", project.index)
    assert again.stdout == done.stdout
    assert "nothing was run" in again.stderr
    assert len(project.lines) == len(gits)

    command = done.stdout.split("reproduce: ")[1].splitlines()[0].split()
    reproduced = project.run(*command[1:], "--json")
    assert [(line["torch"], line["verdict"]) for line in json.loads(reproduced.stdout)] == [("2.28.0", "xfail")]
    assert len(project.lines) == len(gits) + 1, "it was run once more"


def test_many_checks_share_environments_and_agree_with_the_matrix(project: Project) -> None:
    project.case("fixed", bugs=bug("<2.25"))  # the header is wrong about when
    project.case("passing", bugs=bug(">=2.24,<2.30"))
    project.case("always", bugs=bug(">=2.20"))
    project.case("never", bugs=bug("<2.20"))
    project.case("early", bugs=bug("<2.24"))
    done, result = bisect(project, "--torch", RANGE)
    assert done.returncode == 1, "the header of one is wrong, and another fails otherwise"
    answers = {answer["case"]: answer for answer in result["answers"]}
    # 2.30 compiles nothing, and is stepped over.
    assert windows(answers["fixed"]) == [("fixed", "2.28.0", "2.29.0")]
    assert windows(answers["passing"]) == [("introduced", "2.23.0", "2.24.0"), ("fixed", "2.29.0", "2.31.0")]
    assert answers["passing"]["transitions"][1]["cannot_say"] == ["2.30.0"]
    assert "canary" in answers["passing"]["cannot_say"]["2.30.0"]
    assert answers["always"]["summary"].startswith("always there from torch 2.23.0 to 2.31.0")
    assert answers["never"]["summary"].startswith("never there from torch 2.23.0 to 2.31.0")
    # A crash is not the documented failure, so that no release from 2.24 to 2.30 says anything.
    assert windows(answers["early"]) == [("fixed", "2.23.0", "2.31.0")]
    assert list(answers["early"]["cannot_say"]) == [f"2.{minor}.0" for minor in range(24, 31)]
    assert "2.28.0" in answers["fixed"]["surprises"]
    assert not answers["fixed"]["transitions"][0]["fits_header"]

    visited = result["cost"]["environments"]
    assert len(visited) == len(set(visited)) <= 9
    assert result["cost"]["saved"] == result["cost"]["one_by_one"] - len(visited) > 0
    assert "saved" in done.stderr

    project.matrix(RANGE)
    thorough = project.run("bisect", "--torch", RANGE, "--thorough", "--offline", "--json")
    for answer in json.loads(thorough.stdout)["answers"]:
        assert windows(answer) == windows(answers[answer["case"]])
    row = next(row for row in project.table("matrix.csv") if row["case"] == "passing")
    shown = [row[f"2.{minor}.0"] for minor in (23, 24, 29, 30, 31)]
    assert shown == ["pass", "xfail:wrong", "xfail:wrong", "error", "pass"]


def test_nightlies_by_date(project: Project, wheels: Path, tmp_path: Path) -> None:
    """The index of nightlies has torch alone and lacks days; all else comes from the default index."""
    days = [f"2.40.0.dev202601{day:02}" for day in (1, 2, 3, 6, 7, 8, 10)]
    only_torch = build_wheels(tmp_path / "nightly", {day: {"fixed": "wrong"} if day < days[4] else {} for day in days})
    for companion in [*only_torch.glob("numpy*"), *only_torch.glob("setuptools*")]:
        companion.unlink()
    project.case("fixed", bugs=bug("<2.40"))
    default, arguments = project.index, ["fixed", "--torch", "nightly:2026-01-02..2026-01-09"]
    with serve_index(only_torch, tmp_path / "served") as nightly:
        project.index = nightly
        project.environ["UV_DEFAULT_INDEX"] = default
        done, result = bisect(project, *arguments)
        empty = project.run("bisect", "fixed", "--torch", "nightly:2025-01-01..2025-02-01", "--index", nightly)
    (answer,) = result["answers"]
    assert windows(answer) == [("fixed", days[3], days[4])], done.stderr
    assert {line["torch"] for line in project.lines} <= set(days[1:6])
    assert empty.returncode == 2
    assert "has no nightly of these days; it has 7 from 2026-01-01 to 2026-01-10" in empty.stderr


def test_stopped_and_gone_on_with(project: Project) -> None:
    project.case("fixed", bugs=bug("<2.29"))
    arguments = ["fixed", "--torch", ">=2.26,<2.32"]
    command = project.command("bisect", *arguments, "--index", project.index, "--json")
    process = subprocess.Popen(
        command, cwd=project.folder, env=project.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not project.lines and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "the same command goes on from there" in err
    known = len(project.lines)
    assert 1 <= known < budget(6)
    assert not json.loads(out)["answers"][0]["decided"], "what is known is told"
    done, result = bisect(project, *arguments)
    assert windows(result["answers"][0]) == [("fixed", "2.28.0", "2.29.0")]
    assert done.returncode == 0
    assert len(project.lines) == len({line["torch"] for line in project.lines}), "nothing was run twice"


FLAKY = """
import fcntl, torch

def test_flaky(backend):
    def program_of_test(x):
        return x.sin()

    torch.compile(program_of_test, backend=backend)(torch.arange(4))
    with open({counter!r} + torch.__version__, "a+") as runs:
        fcntl.flock(runs, fcntl.LOCK_EX)
        runs.seek(0)
        number = len(runs.read())
        runs.write("x")
    if int(torch.__version__.split(".")[1]) < 23 and number % {period} == {period} - 1:
        raise AssertionError("not close")
"""


@pytest.mark.parametrize(("period", "sure"), [(3, True), (40, False)])
def test_flaky_checks(project: Project, period: int, sure: bool) -> None:
    """It fails in every third run: seen in five, and many clean runs make sure that it is gone. In every 40th
    it is not seen at all, which is no answer."""
    path = project.case("flaky")
    body = FLAKY.format(counter=str(project.folder / "runs-"), period=period)
    path.write_text(case_text(body, bugs=bug("<2.23"), flaky=True))
    project.environ["PT2BUGS_WRITE"] = str(project.folder)
    done, result = bisect(project, "flaky", "--torch", ">=2.22,<2.24")
    (answer,) = result["answers"]
    if not sure:
        assert answer["summary"] == "cannot decide: the check is flaky, and its documented bug was never seen"
        assert (answer["decided"], answer["transitions"], done.returncode) == (False, [], 1)
        return
    assert windows(answer) == [("fixed", "2.22.0", "2.23.0")], done.stderr
    (transition,) = answer["transitions"]
    assert transition["sure"]
    assert transition["confidence"] >= 0.95
    clean = [line for line in project.lines if line["torch"] == "2.23.0"]
    assert len(clean) > 5, "the clean side was run more often"
    assert "of 5 runs" in transition["before_seen"]
    assert done.returncode == 0


# --- from a journal, without environments ---------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offline(folder: Path, capsys: pytest.CaptureFixture[str], letters: str, *arguments: str, **header: Any) -> Any:
    """Exit code and answer over releases 2.0.0, 2.1.0, .. whose cells are as `letters` say."""
    path = write_case(folder, "pytorch_1", **header)
    write_journal(folder, path, {f"2.{minor}.0": repeats for minor, repeats in enumerate(letters.split())})
    code = main(["bisect", "--offline", "--json", *arguments])
    out, err = capsys.readouterr()
    return code, json.loads(out)["answers"][0] if out else {}, err


@pytest.mark.parametrize(
    ("letters", "header", "code", "summary"),
    [
        (". . .", {"bugs": []}, 0, "never there from torch 2.0.0 to 2.2.0"),
        ("B B B", {}, 0, "always there from torch 2.0.0 to 2.2.0: neither introduced nor fixed in this range"),
        ("B B .", {"bugs": [{**BUG, "torch": "<2.2"}]}, 0, "fixed between torch 2.1.0 and 2.2.0"),
        ("B B .", {}, 1, "fixed between torch 2.1.0 and 2.2.0"),
        (
            ". B .", {"bugs": [{**BUG, "torch": "==2.1.*"}]}, 0,
            "introduced between torch 2.0.0 and 2.1.0; fixed between torch 2.1.0 and 2.2.0",
        ),
        ("B F .", {"bugs": [{**BUG, "torch": "<2.1"}]}, 1, "fixed between torch 2.0.0 and 2.2.0"),
        ("F F F", {}, 1, "cannot decide: no release of the range says anything"),
        ("b b B .", {"bugs": [{**BLOCKED, "torch": "<2.2"}, {**BUG, "torch": "<2.3"}]}, 0,
         "fixed between torch 2.2.0 and 2.3.0"),
        ("s B .", {"bugs": [{**BUG, "torch": "<2.2"}], "requires_torch": ">=2.1"}, 0,
         "fixed between torch 2.1.0 and 2.2.0"),
        # Every other run sees it, and five runs do not: 1 - (1/2)**5 is 0.969, with the rate taken low 0.87.
        ("B.B. .....", {"bugs": [{**BUG, "torch": "<2.1"}], "flaky": True}, 1,
         "cannot decide: perhaps fixed between torch 2.0.0 and 2.1.0"),
        ("BBBB .....", {"bugs": [{**BUG, "torch": "<2.1"}], "flaky": True}, 0,
         "fixed between torch 2.0.0 and 2.1.0"),
    ],
)  # fmt: skip
def test_answers_from_the_journal(
    folder: Path, capsys: pytest.CaptureFixture[str], letters: str, header: dict[str, Any], code: int, summary: str
) -> None:
    status, answer, _ = offline(folder, capsys, letters, **header)
    assert (answer["summary"], status) == (summary, code)


def test_a_gap_in_the_journal_is_named_offline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_case(folder, "pytorch_1", bugs=[{**BUG, "torch": "<2.2"}])
    write_journal(folder, path, {"2.0.0": "B", "2.4.0": "."})
    write_journal(folder, write_case(folder, "pytorch_2", guard=True, bugs=[]), {"2.2.0": "."})
    assert main(["bisect", "--offline", "pytorch_*"]) == 1
    out = capsys.readouterr().out
    assert "fixed between torch 2.0.0 and 2.4.0, not narrowed further (1 release between not run)" in out
    assert f"source: https://github.com/pytorch/pytorch/compare/{git_of('2.0.0')}...{git_of('2.4.0')}" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--torch", ">=2.7"], 2, "matches no torch release"),
        (["--torch", "==2.1.*"], 2, "only torch 2.1.0 is in this range, a bisection needs two; --patches takes"),
        (["--torch", "2.1.0", "--patches"], 2, "only torch 2.1.0 is in this range, a bisection needs two"),
        (["--torch", "recent"], 2, "--torch recent: not a release"),
        (["--torch", "nightly:2026-13-01..2026-13-02"], 2, "'2026-13-01' is not a date"),
        (["--torch", "nightly:2026-02-01..2026-01-01"], 2, "2026-01-01 is before 2026-02-01"),
        (["--torch", "nightly:2026-01-01..2026-01-02"], 2, "no nightly builds of torch for this platform"),
        (["pytorch_7"], 2, "no case 'pytorch_7'"),
        (["--device", "xpu"], 3, "no check of the selected cases runs on --device xpu"),
        (["--extra", "turbine"], 3, "nothing selected"),
    ],
)
def test_bad_input(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    status, answer, err = offline(folder, capsys, "B B .", *arguments)
    assert (status, answer) == (code, {})
    assert message in err
    assert len(err.splitlines()) == 1


def test_an_index_that_answers_nonsense(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(folder, "pytorch_1")
    monkeypatch.setenv("PT2BUGS_HOME", str(folder / "home"))
    (folder / "web" / "torch").mkdir(parents=True)
    (folder / "web" / "torch" / "index.html").write_text("<p>It works!</p>")
    (folder / "empty").mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder / "empty"))
    with serve_index(folder / "empty", folder / "web") as url:
        assert main(["bisect", "--index", url.replace("/simple", "")]) == 2
    err = capsys.readouterr().err
    assert "matches no torch release" in err or "did not answer" in err
    assert len(err.splitlines()) == 1


# --- the range ------------------------------------------------------------------------------------------

KNOWN = ["2.4.0", "2.4.1", "2.5.0rc1", "2.5.0rc2", "2.5.0", "2.5.1", "2.6.0rc1", "2.6.0", "2.7.0.dev20250101"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "2.4.1 2.5.1 2.6.0"),
        (["--patches"], "2.4.0 2.4.1 2.5.0 2.5.1 2.6.0"),
        (["--torch", ">=2.4,<2.6"], "2.4.1 2.5.1"),
        (["--torch", "<=2.5.0"], "2.4.1 2.5.0"),
        (["--torch", ">=2.4,<2.6", "--patches"], "2.4.0 2.4.1 2.5.0 2.5.1"),
        (["--torch", "==2.5.*", "--patches", "--candidates"], "2.5.0rc1 2.5.0rc2 2.5.0 2.5.1"),
        (["--candidates"], "2.4.1 2.5.0rc1 2.5.0rc2 2.5.1 2.6.0rc1 2.6.0"),
        (["--torch", "all"], "2.4.0 2.4.1 2.5.0 2.5.1 2.6.0"),
        (["--torch", "2.5.0rc2", "--torch", "2.5.0"], "2.5.0rc2 2.5.0"),
    ],
)
def test_the_range(arguments: list[str], expected: str) -> None:
    parser, bisect = command_parser("bisect")
    known = [Release(Version(version), ("3.11",)) for version in KNOWN]
    options = options_of(bisect.Options, parser.parse_args(arguments))
    chosen = range_of(options.torch, known, patches=options.patches, candidates=options.candidates)
    assert " ".join(map(str, chosen)) == expected


def test_what_broke_it_is_named_with_the_command_that_asks(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).resolve().parent.parent
    where = ["--cases", str(root / "cases"), "--results", str(root / "results"), "--offline"]
    main(["bisect", "pytorch_197811", *where])
    assert "introduced by a change of _dynamo/variables/torch.py" in (told := capsys.readouterr().out)
    assert "`pt2bugs isolate pytorch_197811 --introduced`" in told
