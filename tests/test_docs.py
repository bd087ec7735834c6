"""The documents: every command in them is one, outputs are those of today, links lead somewhere.

Commands that only read results are run here on the committed ones; `test_docs_commands` runs the others.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_checks import HOSTILE
from pt2bugs.cli import COMMANDS, command_parser, main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
READING = ("compare", "bisect", "matrix", "export", "dataset", "report", "list", "corpus", "match")
"""Commands that are run here on the committed results, `compare` and `bisect` where they are asked `--offline`."""


def commands() -> Iterator[tuple[str, str]]:
    """The page and text of every `pt2bugs` command: in blocks of shell, and alone in a code span."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                line = line.removeprefix("$ ").partition("  #")[0].strip()
                if line.startswith("pt2bugs "):
                    yield page.name, line.partition(" > ")[0]
        if page.name == "README.md":
            for line in re.findall(r"`(pt2bugs [a-z]+ [^`]+)`", text):
                yield page.name, line


ALL = sorted(set(commands()))


@pytest.mark.parametrize(("page", "line"), ALL)
def test_a_command_is_one(page: str, line: str) -> None:
    arguments = shlex.split(line)
    if arguments[1] in ("plan", "merge") and arguments[1] not in COMMANDS:
        pytest.skip("a command of a later version")
    parser, _ = command_parser(arguments[1])
    _, rest = parser.parse_known_args(arguments[2:])
    assert [argument for argument in rest if argument.startswith("-")] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_a_container_runs_the_main_command() -> None:
    told = re.search(r"<!-- main command -->\n```sh\n.* && (.*)\n", (ROOT / "README.md").read_text(encoding="utf-8"))
    run = re.search(r"^CMD (.*)$", (ROOT / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert told is not None
    assert run is not None
    assert json.loads(run[1]) == shlex.split(told[1])


def is_read(line: str) -> bool:
    arguments = shlex.split(line)
    reads = arguments[1] in READING or arguments[1:3] == ["repair", "list"]
    on_results = reads and "/elsewhere" not in line and "parquet" not in line
    writes = any(argument.startswith("--update-") for argument in arguments)
    return on_results and not writes and (arguments[1] not in ("compare", "bisect") or "--offline" in arguments)


@pytest.mark.parametrize("line", sorted({line for _, line in ALL if is_read(line)}))
def test_a_command_that_reads_results_works(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cases").symlink_to(ROOT / "cases")
    (tmp_path / "results").symlink_to(ROOT / "results")
    (tmp_path / "docs" / "guides").mkdir(parents=True)
    for name in ("docs/guides/traceback.txt", "traceback.txt", "failure.log"):
        (tmp_path / name).write_text((ROOT / "docs" / "guides" / "traceback.txt").read_text())
    guide = (ROOT / "docs" / "guides" / "upgrade.md").read_text(encoding="utf-8")
    (entry,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "accepted.toml").write_text(entry)
    monkeypatch.chdir(tmp_path)
    # 3: nothing has such a verdict today.
    assert main(shlex.split(line)[1:]) in ((0, 1, 3) if "--verdict" in line else (0, 1))
    assert "Traceback" not in capsys.readouterr().err


def maker(name: str) -> Any:
    """The program in docs/ that writes a page or a part of one."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_commands_is_up_to_date() -> None:
    written = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert written == maker("make_commands").page(), "python docs/make_commands.py"


def test_the_outputs_shown_are_those_of_the_committed_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    module = maker("make_outputs")
    for name in module.PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "```console\n$ pt2bugs" in text
        assert text == module.page(text), "python docs/make_outputs.py"


def test_the_figures_of_isolated_fixes_are_those_of_the_committed_results() -> None:
    module = maker("make_fixes")
    text = module.PAGE.read_text(encoding="utf-8")
    assert text == module.page(text), "python docs/make_fixes.py"
    for path in (ROOT / "results" / "fixes").glob("*.json"):
        assert f"| {path.stem} |" in text


def test_the_tables_of_speed_are_those_of_the_committed_results() -> None:
    module = maker("make_speed")
    text = module.PAGE.read_text(encoding="utf-8")
    assert text == module.page(text), "python docs/make_speed.py"


def test_the_tables_of_repairs_are_those_of_the_committed_lines() -> None:
    module = maker("make_repairs")
    text = module.PAGE.read_text(encoding="utf-8")
    assert text == module.page(text), "python docs/make_repairs.py"


def test_the_page_of_the_corpus_is_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["corpus", "-o", str(tmp_path / "corpus.md")]) == 0
    written = (tmp_path / "corpus.md").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "reference" / "corpus.md").read_text(encoding="utf-8") == written, (
        "pt2bugs corpus -o docs/reference/corpus.md"
    )


def test_the_picture_of_the_readme_is_up_to_date(tmp_path: Path) -> None:
    where = ["--cases", str(ROOT / "cases"), "--results", str(ROOT / "results")]
    assert main(["matrix", "--summary", str(tmp_path / "bugs.svg"), *where]) == 0
    drawn = (tmp_path / "bugs.svg").read_text()
    assert (ROOT / "docs" / "assets" / "bugs.svg").read_text() == drawn, "pt2bugs matrix --summary docs/assets/bugs.svg"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not re.match(r"\w+:", target):
            assert (page.parent / target).exists(), target


_NAMED_TEST = re.compile(r"`(tests/test_\w+\.py)?(?:::)?((?:Test|test_)\w+)?(?:::(test_\w+))?(?:\[([^\]`]+)\])?`")


@pytest.mark.parametrize("page", ["concepts", "evaluation"])
def test_a_test_that_a_promise_names_is_there(page: str) -> None:
    """One without a module is of the module named before it, or of a class or test of the engine's modules."""
    text = (ROOT / "docs" / page / "isolation.md").read_text(encoding="utf-8")
    engine = {name: path for path in sorted((ROOT / "tests").glob("test_engine_*.py")) for name in _tests_of(path)}
    named, module = [match for match in _NAMED_TEST.finditer(text) if match[1] or match[2]], ROOT
    assert len(named) > 15
    for path, name, inner, parameters in (match.groups() for match in named):
        module = ROOT / path if path else module
        there = module if path or (module.is_file() and name in _tests_of(module)) else engine[name]
        assert {name or inner, inner or name} <= {None, *_tests_of(there)}, (there.name, name, inner)
        words = [hostile.name for hostile in HOSTILE] if name == "TestHostileCheck" else _tests_of(there)
        for parameter in (parameters or "").removesuffix(", ...").split(", "):
            assert not parameter or fnmatch.filter(words, parameter), parameter


def _tests_of(path: Path) -> set[str]:
    """The names of the test functions and classes of a module."""
    return set(re.findall(r"^ *(?:def|class) (test_\w+|Test\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_table_of_triage_is_that_of_its_rows() -> None:
    """Headers may change; the rows that were measured say what triage answered then."""
    files = [f"benchmarks/triage-{of}.jsonl" for of in ("2.13.0", "2.9.1", "2.6.0", "2.2.2", "unseen-2.13.0")]
    command = [sys.executable, "benchmarks/triage.py", "--table", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "evaluation" / "triage.md").read_text(encoding="utf-8")
    for table in done.stdout.strip().split("\n\n"):
        assert table in page
