"""Step 7: the reproducers: a case of this corpus and a unit test in PyTorch's style, both seen to fail."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pt2bugs.case.failure import Level
from pt2bugs.case.observation import telling_line
from pt2bugs.case.patterns import pattern_for
from pt2bugs.case.versions import public
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.curate import case_text as curate
from pt2bugs.curate.case_text import NewHeader
from pt2bugs.curate.placeholders import PLACEHOLDER
from pt2bugs.curate.script import CheckSource, indented, parse_program, script_to_check
from pt2bugs.engine.folders import RunFolder
from pt2bugs.files import write_text
from pt2bugs.triage.classify import Classification
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import LAYERS
from pt2bugs.triage.program import without_header
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.runner import ProgramRunner, RunResult

TEST_FILES = {
    "dynamo": ("test/dynamo/test_misc.py", "module: dynamo"),
    "aotautograd": ("test/functorch/test_aotdispatch.py", "oncall: pt2"),
    "functionalization": ("test/test_functionalization.py", "module: codegen"),
    "fake-tensor": ("test/test_fake_tensor.py", "module: meta tensors"),
    "dynamic-shapes": ("test/test_dynamic_shapes.py", "oncall: pt2"),
    "decomposition": ("test/test_decomp.py", "module: decompositions"),
    "inductor": ("test/inductor/test_torchinductor.py", "module: inductor"),
    "export": ("test/export/test_export.py", "oncall: export"),
    "functorch": ("test/functorch/test_eager_transforms.py", "module: functorch"),
    "fx": ("test/test_fx.py", "module: fx"),
    "backend": ("test/dynamo/test_backends.py", "module: dynamo"),
    "higher-order-ops": ("test/dynamo/test_higher_order_ops.py", "module: dynamo"),
    "custom-op": ("test/test_custom_ops.py", "module: custom-operators"),
    "aot-inductor": ("test/inductor/test_aot_inductor.py", "module: inductor"),
    "quantization": ("test/quantization/pt2e/test_quantize_pt2e.py", "oncall: quantization"),
}
"""The test file of PyTorch that a component's tests belong to, and its owner."""
_NO_BACKSLASH = str.maketrans({"\\": "/"})
_NO_DOCSTRING = str.maketrans({"\\": "/", '"': "'"})
"""Signs that would end a docstring, or escape in it."""
ISSUE = "https://github.com/pytorch/pytorch/issues"
MAX_TITLE = 110


@dataclass(frozen=True)
class Reproducers:
    """The files, and for each that does not fail as the program does a sentence that says so."""

    case: Path
    test: Path
    problems: tuple[str, ...]


def write_reproducers(
    runner: ProgramRunner,
    source: str,
    reproduction: Reproduction,
    classification: Classification,
    name: str,
    folder: Path,
    releases: str = "",
    *,
    passes_plain: bool = True,
) -> Reproducers:
    """Write the case and the unit test of a program, and run both.

    Args:
        runner: runs programs.
        source: of the program.
        reproduction: its failure.
        classification: its class.
        name: of the program.
        folder: to write to.
        releases: a specifier of those that have the bug; empty: the one at hand.
        passes_plain: whether the program was seen to pass without the compiler.

    Raises:
        EngineError: the engine cannot be started.
    """
    word = _identifier(name)
    source = runner.redacted(without_header(source))
    expected = reproduction.oracle.reference
    case, test = folder / "case.py", folder / f"test_{word}.py"
    text = case_text(
        source,
        reproduction,
        classification,
        word,
        public(runner.torch),
        expected=expected,
        releases=releases,
        passes_plain=passes_plain,
    )
    write_text(case, text)
    write_text(test, test_text(source, classification, word, expected))
    runs: tuple[tuple[Path, dict[str, Any]], ...] = (
        (case, {"check": f"test_{word}"}),
        (test, {"unit_test": True}),
    )
    problems = []
    for path, request in runs:
        shown = None if runner.budget.is_over else _run_copy(runner, path, request)
        # MESSAGE: the same torch runs the same statements; a function of its own around them may move the frame.
        if shown is not None and shows_failure(shown.identity, reproduction.identity, Level.MESSAGE):
            continue
        # A run that the budget cut short says nothing.
        if shown is None or (shown.outcome is Outcome.TIMEOUT and runner.budget.is_over):
            problems.append(f"{path.name} was not seen to fail: the budget was spent")
        else:
            problems.append(f"{path.name} does not fail as the program does: {shown.observation.summary[:200]}")
    return Reproducers(case, test, tuple(problems))


def _run_copy(runner: ProgramRunner, path: Path, request: Mapping[str, Any]) -> RunResult:
    """Run a copy of a file, which may then write, rename or delete itself as the program did."""
    with RunFolder.create("triage") as folder:
        copy = folder / path.name
        write_text(copy, path.read_text(encoding="utf-8"))
        return runner.run(copy, timeout_s=runner.timeout_s, alone=True, **request)


def shows_failure(seen: Identity, wanted: Identity, level: Level) -> bool:
    """Return whether a check or a test made of a program shows its failure.

    Args:
        seen: of the check or the test.
        wanted: of the program; where it only prints otherwise, the check asserts that.
        level: what must agree.
    """
    if wanted.error_type == "" and wanted.outcome is Outcome.WRONG:
        return seen.outcome in (Outcome.WRONG, Outcome.RAISE) and "AssertionError" in seen.error_type
    return seen.failure is not None and seen.failure.same(wanted.failure, level)


def _identifier(name: str) -> str:
    word = re.sub(r"\W+", "_", name).strip("_").lower()
    return word if word and not word[0].isdigit() else f"program_{word}".strip("_")


def case_text(
    source: str,
    reproduction: Reproduction,
    classification: Classification,
    word: str,
    torch: str,
    *,
    expected: str | None = None,
    releases: str = "",
    passes_plain: bool = True,
) -> str:
    """Return a case file: the header says what was measured, the check is the program, a placeholder marks the rest.

    Args:
        source: of the program.
        reproduction: its failure.
        classification: its class.
        word: names the check.
        torch: the release on which it was seen.
        expected: the text that it prints without the compiler, where that counts.
        releases: a specifier of those that have the bug; empty: the one at hand.
        passes_plain: whether the program was seen to pass without the compiler.
    """
    identity = reproduction.identity
    outcome = identity.outcome
    entry = {"torch": releases or f"=={torch}", "outcome": str(outcome)}
    if identity.error_type:
        entry["error"] = identity.error_type
    if outcome in (Outcome.RAISE, Outcome.WRONG) and identity.error_type:
        entry["match"] = pattern_of(identity)
        if not identity.message.strip() and identity.place:
            file, _, function = identity.place.partition(" ")
            entry["frame"] = f"{pattern_for(file)}:.* {pattern_for(function)}"
    if identity.signal:
        entry["signal"] = identity.signal
    title = _title(identity)
    settings = {
        "issue": ISSUE,
        "title": title,
        "component": classification.component or "dynamo",
        "symptom": classification.symptom or "internal-error",
        "devices": ["cpu"],
        **_settings(reproduction),
    }
    header = NewHeader(torch, settings, [entry], {"issue": "the address of the issue"})
    doc = [
        f"{title.removesuffix(' ...')}.".translate(_NO_BACKSLASH),
        *textwrap.wrap(f"Found by triage on torch {torch}: {classification.why}.".translate(_NO_DOCSTRING), 110),
        f"{PLACEHOLDER}: why it happens, in the field's terms",
        _correct(classification, passes_plain=passes_plain),
    ]
    check = script_to_check(source, word, judge=False)
    if expected is not None:
        assertion = f"assert printed.getvalue() == {expected!r}, printed.getvalue()"
        check = _comparing_output(check, assertion)
    return curate.case_text(header, doc, check.program(f"test_{word}"))


def _correct(classification: Classification, *, passes_plain: bool) -> str:
    if classification.symptom == "missing-error":
        return "Correct: the exception that the program expects is raised."
    return (
        f"Correct: the program ends without an exception{', as it does without the compiler' if passes_plain else ''}."
    )


def _settings(reproduction: Reproduction) -> dict[str, Any]:
    """Return the keys of a header for a program that asks for another backend, or compiles nothing."""
    settings: dict[str, Any] = {}
    named = [name for name in reproduction.result.backends if name in LAYERS]
    if named and "inductor" not in reproduction.result.backends:
        settings["backends"] = named[:1]
    if "compile" not in reproduction.result.entered:
        settings["compiles"] = False
    return settings


def pattern_of(identity: Identity) -> str:
    """Return a regular expression for a message, with numbers and addresses left open.

    It has the telling line and the inner exception: the line alone is one of a few hundred sentences.

    Args:
        identity: with the message.
    """
    line = telling_line(identity.message)
    inner = identity.inner[:120]
    if inner and inner in line:
        return pattern_for(inner)
    line = line[:120]
    if inner:
        return f"{pattern_for(line)}[\\s\\S]*{pattern_for(inner)}"
    return pattern_for(line) or (r"^\s*$" if identity.message else "^$")


def _title(identity: Identity) -> str:
    """Return the failure in one line of a header; of a long one the inner exception, cut between words."""
    title = identity.headline
    if len(title) > MAX_TITLE and identity.inner:
        title = f"{identity.error_type.rpartition('.')[2]}: {identity.inner}"
    title = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    title = title.replace('"', "'").replace("\\", "/")
    return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 4].rsplit(" ", 1)[0] + " ..."


def _comparing_output(check: CheckSource, assertion: str) -> CheckSource:
    """Return the check with an assertion on what it prints."""
    body = f"printed = io.StringIO()\nwith contextlib.redirect_stdout(printed):\n{indented(check.body)}\n{assertion}"
    return replace(check, top=f"import contextlib\nimport io\n\n{check.top}", body=body)


def test_text(source: str, classification: Classification, word: str, expected: str | None = None) -> str:
    """Return a unit test in the style of PyTorch's own, which fails as long as the program does.

    Args:
        source: of the program.
        classification: its class.
        word: names the test.
        expected: the text that it prints without the compiler, where that counts.
    """
    file, owner = TEST_FILES.get(classification.component or "", ("test/dynamo/test_repros.py", "oncall: pt2"))
    check = script_to_check(source, word, judge=False)
    check = replace(
        check, top=_importing(check.top, "from torch.testing._internal.common_utils import TestCase, run_tests")
    )
    if expected is not None:
        check = _comparing_output(check, f"self.assertEqual(printed.getvalue(), {expected!r})")
    camel = "".join(part.capitalize() for part in word.split("_"))
    text = (
        f'# Owner(s): ["{owner}"]\n# Belongs to {file}.\n\n{check.top}\n\n\n'
        f"class {camel}Tests(TestCase):\n{indented(check.function(f'test_{word}', method=True))}\n\n\n"
        'if __name__ == "__main__":\n    run_tests()\n'
    )
    parse_program(text, word)
    return text


def _importing(top: str, line: str) -> str:
    """Return the top of a module with one import more, behind those that it begins with."""
    last = 0
    for node in ast.parse(top).body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            break
        last = node.end_lineno or node.lineno
    lines = top.splitlines()
    return "\n".join([*lines[:last], line, *lines[last:]])


COLLECT_ENV = """
import re
from importlib.metadata import distributions
from torch.utils.collect_env import get_env_info, pretty_str

facts = get_env_info()
if not facts.pip_packages:  # an environment without pip
    wanted = re.compile("(torch|triton|numpy|optree|onnx|nvidia|mypy|flake8)", re.I)
    versions = {dist.metadata["Name"] or "": dist.version for dist in distributions()}
    lines = [f"{name}=={versions[name]}" for name in sorted(versions) if wanted.match(name)]
    facts = facts._replace(pip_version="pip3", pip_packages="\\n".join(lines))
print(pretty_str(facts))
"""


def versions(runner: ProgramRunner, folder: Path) -> str:
    """Return the text of `torch.utils.collect_env`, without paths and secrets; where it fails, facts of our own.

    Args:
        runner: runs programs.
        folder: for the program that asks.

    Raises:
        EngineError: the engine cannot be started.
    """
    path = folder / "collect_env.py"
    write_text(path, COLLECT_ENV)
    try:
        result = runner.run(path, stdout=True, timeout_s=60.0, alone=True)
    finally:
        path.unlink(missing_ok=True)
    if result.outcome is Outcome.PASS and "PyTorch version" in result.stdout:
        return result.stdout.strip()
    facts = runner.facts
    return f"PyTorch version: {facts.torch}\nPython version: {facts.python}\nOS: {facts.platform}"
