"""Headers are read without importing, and everything wrong is one line with file, line and key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pt2bugs.case.corpus import Selection, find_case_files, load_cases
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import CaseError
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.curate.rules import check_imports

HEADER = """\
# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/1"
# title = "A title"
# component = "dynamo"
# symptom = "graph-break"
{more}# ///
"""
PROGRAM = '"""Why."""\n\ndef test_it(device, backend):\n    raise RuntimeError\n'
BUG = '#\n# [[tool.pt2bugs.bug]]\n# torch = "<2.10"\n# outcome = "raise"\n'


def write(folder: Path, more: str = "", program: str = PROGRAM, name: str = "pytorch_1.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER.format(more=more) + program)
    return path


def test_a_whole_header(tmp_path: Path) -> None:
    more = (
        '# fix = "https://github.com/pytorch/pytorch/pull/2"\n# devices = ["cpu", "cuda"]\n# timeout = 5\n'
        '# memory = 100\n# requires-torch = ">=2.4"\n# isolation = "spawn"\n# env = { A = "b" }\n'
        '# backends = ["eager", "inductor"]\n# extra = "turbine"\n# compiles = false\n# flaky = true\n'
        '# labels = ["gradient"]\n' + BUG + '# device = "cuda"\n# backend = "eager"\n# check = "test_it"\n'
        '# python = ">=3.11"\n# error = "RuntimeError"\n# match = "it.*"\n# blocked = true\n'
    )
    case = parse_case(write(tmp_path, more))
    assert (case.id, case.component, case.symptom, case.title) == ("pytorch_1", "dynamo", "graph-break", "A title")
    assert (case.devices, case.backends) == (("cpu", "cuda"), ("eager", "inductor"))
    assert (case.timeout, case.memory, case.isolation, case.env) == (5.0, 100, "spawn", {"A": "b"})
    assert (case.extra, case.compiles, case.flaky, case.labels) == ("turbine", False, True, ("gradient",))
    assert [(c.name, c.parameters) for c in case.checks] == [("test_it", ("device", "backend"))]
    (bug,) = case.bugs
    assert (bug.outcome, bug.device, bug.backend, bug.check) == (Outcome.RAISE, "cuda", "eager", "test_it")
    assert bug.blocked
    assert (bug.error, bug.match) == ("RuntimeError", "it.*")
    assert "2.9.1" in bug.torch
    assert "2.10" not in bug.torch
    assert case.doc == "Why."


@pytest.mark.parametrize(
    ("more", "line", "message"),
    [
        ("# devics = []\n", 10, "unknown key 'devics' in [tool.pt2bugs]; did you mean 'devices'?"),
        ("# timeout = true\n", 10, "timeout must be a number"),
        ("# timeout = -1\n", 10, "timeout must be greater than zero"),
        ("# memory = 1.5\n", 10, "memory must be a whole number"),
        ('# devices = "cpu"\n', 10, "devices must be a list"),
        ("# devices = []\n", 10, "at least one device"),
        ('# requires-torch = "two"\n', 10, "not a PEP 440 specifier set"),
        ('# isolation = "thread"\n', 10, "unknown isolation 'thread'"),
        ('# extra = "turbina"\n', 10, "unknown extra 'turbina'; did you mean 'turbine'?"),
        ("# env = { A = 1 }\n", 10, "env must be a table of strings"),
        ('# fix = "PR 5"\n', 10, "fix must be a web address"),
        ("# labels = [1]\n", 10, "labels must be a list of non-empty strings"),
        ("# guard = true\n" + BUG, 10, "it has no bug entries"),
        ("# a b c\n", 10, "not TOML"),
        (BUG.replace('"raise"', '"rise"'), 13, "unknown outcome 'rise'; did you mean 'raise'?"),
        (BUG.replace('"raise"', '"pass"'), 13, "unknown outcome 'pass'"),
        (BUG.replace("<2.10", "below 2.10"), 12, "torch = 'below 2.10' is not a PEP 440 specifier set"),
        (BUG + '# check = "test_that"\n', 14, "unknown check 'test_that'; did you mean 'test_it'?"),
        (BUG + '# device = "cuda"\n', 14, "unknown device 'cuda'"),
        (BUG + '# backend = "eagr"\n', 14, "unknown backend 'eagr'"),
        (BUG + '# match = "("\n', 14, "match is not a regular expression"),
        (BUG + '# signal = "SIGSEGV"\n', 14, 'signal belongs to outcome = "crash"'),
        (BUG.replace("raise", "crash") + '# signal = "SEGV"\n', 14, "unknown signal 'SEGV'; did you mean 'SIGSEGV'?"),
        ('#\n# [[tool.pt2bugs.bug]]\n# torch = "<2"\n', 11, "needs an outcome"),
        (BUG + '# packages = "numpy<2"\n', 14, "packages must be a table"),
        (BUG + '# packages = { numpy = "two" }\n', 14, "packages.numpy = 'two' is not a PEP 440 specifier set"),
        (BUG + "# packages = { numpy = 2 }\n", 14, "packages.numpy = 2 is not a PEP 440 specifier set"),
        (BUG + '# packages = { "num py" = "<2" }\n', 14, "packages names 'num py', which is no name of a package"),
        ('# kind = "limitations"\n', 10, "unknown kind 'limitations'; did you mean 'limitation'?"),
        ('# upstream = "closed"\n', 10, "upstream and upstream-seen belong together: 'upstream-seen' is missing"),
        ("# upstream-seen = 2026-11-20\n", 10, "upstream and upstream-seen belong together: 'upstream' is missing"),
        (
            '# upstream = "opened"\n# upstream-seen = 2026-11-20\n',
            10,
            "unknown upstream 'opened'; did you mean 'open'?",
        ),
        ('# upstream = "open"\n# upstream-seen = "Friday"\n', 11, "upstream-seen must be a day such as 2026-11-20"),
        ('# upstream = "open"\n# upstream-seen = 2026-11-20T10:00:00\n', 11, "upstream-seen must be a day"),
        ('# upstream = "open"\n# upstream-seen = 20\n', 11, "upstream-seen must be a day"),
        ('# reported-on = "nightly"\n', 10, "reported-on must be a release such as 2.9.1, not 'nightly'"),
        ('# found-beside = "the forum"\n', 10, "found-beside must be a web address"),
        ('# network = "yes"\n', 10, "network must be true or false"),
        (BUG + BUG + "# blokced = true\n", 18, "unknown key 'blokced' in [[tool.pt2bugs.bug]]"),
    ],
)
def test_bad_headers(tmp_path: Path, more: str, line: int, message: str) -> None:
    path = write(tmp_path, more)
    with pytest.raises(CaseError) as caught:
        parse_case(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("component", "dynamoo"), "unknown component 'dynamoo'; did you mean 'dynamo'?"),
        (("symptom", "slow"), "unknown symptom 'slow': one of graph-break"),
        (("issue", "163640"), "issue must be a web address"),
        (("title", ""), "[tool.pt2bugs] needs 'title'"),
    ],
)
def test_bad_words(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    key, value = change
    text = HEADER.format(more="") + PROGRAM
    rows = [f'# {key} = "{value}"' if row.startswith(f"# {key} =") else row for row in text.splitlines()]
    path = tmp_path / "pytorch_1.py"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(CaseError, match=r"pytorch_1\.py:") as caught:
        parse_case(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("x = 1\n", "has no check"),
        ("def test_a(dtype):\n    pass\n", "takes 'dtype'"),
        ("def test_a(): pass\ndef test_a(): pass\n", "defined twice"),
        ("async def test_a(): pass\n", "must be a plain function"),
        ("def test_a(:\n", "is not Python"),
    ],
)
def test_bad_programs(tmp_path: Path, program: str, message: str) -> None:
    with pytest.raises(CaseError) as caught:
        parse_case(write(tmp_path, program=program))
    assert message in str(caught.value)


def test_a_block_that_never_closes(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_1.py"
    path.write_text((HEADER.format(more="") + PROGRAM).replace("# ///\n", "#///\n"))
    with pytest.raises(CaseError, match="no closing"):
        parse_case(path)


def test_unreadable_text(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_1.py"
    path.write_bytes(b"# /// script\n\xff\n# ///\n")
    with pytest.raises(CaseError, match="cannot be read"):
        parse_case(path)


def test_two_files_with_one_id(tmp_path: Path) -> None:
    write(tmp_path / "a")
    second = write(tmp_path / "b")
    with pytest.raises(CaseError, match="id 'pytorch_1' is taken by") as caught:
        load_cases([tmp_path])
    assert caught.value.path == second


def test_what_is_found(tmp_path: Path) -> None:
    case = write(tmp_path / "dynamo")
    write(tmp_path / ".venv" / "x", name="hidden.py")
    (tmp_path / "helper.py").write_text("x = 1\n")
    assert list(find_case_files([tmp_path])) == [case]


def test_where_an_issue_came_from(tmp_path: Path) -> None:
    more = """# kind = "limitation"
# upstream = "closed"
# upstream-seen = 2026-11-20
# reported-on = "2.9.1"
# found-beside = "https://example.org/9"
# network = true
"""
    case = parse_case(write(tmp_path, more))
    told = {
        "kind": "limitation",
        "upstream": "closed",
        "upstream_seen": "2026-11-20",
        "reported_on": "2.9.1",
        "found_beside": "https://example.org/9",
        "network": True,
    }
    assert told.items() <= case.as_dict().items()
    assert parse_case(write(tmp_path, more.replace("2026-11-20", '"2026-11-20"'))).upstream_seen == case.upstream_seen
    plain = parse_case(write(tmp_path, ""))
    assert (plain.kind, plain.upstream, plain.upstream_seen, plain.network) == ("bug", "", None, False)


def test_packages_by_their_normalized_names(tmp_path: Path) -> None:
    (bug,) = parse_case(write(tmp_path, BUG + '# packages = { "Typing.Extensions" = "<5", numpy = ">=2,<2.3" }\n')).bugs
    assert bug.as_dict()["packages"] == {"typing-extensions": "<5", "numpy": "<2.3,>=2"}


def test_the_hash_follows_the_program_not_the_expectations(tmp_path: Path) -> None:
    first = parse_case(write(tmp_path, BUG)).hash
    assert parse_case(write(tmp_path, BUG.replace("2.10", "2.11"))).hash == first
    assert parse_case(write(tmp_path, '# labels = ["x"]\n' + BUG)).hash == first
    assert parse_case(write(tmp_path, "# timeout = 9\n" + BUG)).hash != first
    restricted = parse_case(write(tmp_path, '# requires-torch = ">=2.2"\n' + BUG))
    assert restricted.hash != first
    assert restricted.unrestricted_hash == first
    assert parse_case(write(tmp_path, BUG, PROGRAM + "x = 1\n")).hash != first


def test_env_means_a_fresh_interpreter(tmp_path: Path) -> None:
    assert parse_case(write(tmp_path, '# env = { A = "1" }\n')).isolation == "spawn"


def test_selection(tmp_path: Path) -> None:
    case = parse_case(write(tmp_path, '# labels = ["x"]\n'))
    assert Selection().matches(case)
    assert Selection(patterns=("pytorch_*",), components=("dynamo",), labels=("x", "y")).matches(case)
    assert not Selection(patterns=("turbine_*",)).matches(case)
    assert not Selection(symptoms=("crash",)).matches(case)
    assert not Selection(labels=("y",)).matches(case)


CORPUS = Path(__file__).parent.parent / "cases"


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in find_case_files([CORPUS])])
def test_the_corpus_keeps_the_contract(path: Path) -> None:
    """Every file parses, stands in its component's folder, has an identity on every entry and explains itself."""
    case = parse_case(path)
    assert path.parent.name == case.component
    assert len(case.doc.splitlines()) >= 3
    for bug in case.bugs:
        if bug.outcome in (Outcome.RAISE, Outcome.WRONG):
            assert bug.error, f"entry in line {bug.line} names no exception type"
            assert bug.match, f"entry in line {bug.line} matches no message"
        if bug.outcome is Outcome.CRASH:
            assert bug.signal or bug.match, f"entry in line {bug.line} names no signal"
    assert case.guard or case.bugs or case.unmeasured


def test_the_corpus_imports_torch_and_the_standard_library_only() -> None:
    for path in find_case_files([CORPUS]):
        finding = check_imports(parse_case(path))
        assert finding.holds, f"{path} {finding.message}"


def test_reading_headers_needs_no_torch() -> None:
    heavy = "'torch' in sys.modules or 'pandas' in sys.modules"
    script = f"import sys, pt2bugs.case.corpus, pt2bugs.commands.list; sys.exit({heavy})"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
