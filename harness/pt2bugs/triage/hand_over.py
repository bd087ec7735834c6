"""Step 7: what a reporter hands over: a case of this corpus and a unit test in PyTorch's style, both seen to fail."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pt2bugs.case.expectation import public
from pt2bugs.case.observation import telling_line
from pt2bugs.case.words import Outcome
from pt2bugs.curate.marks import MARK
from pt2bugs.files import write_text
from pt2bugs.triage.classify import Classification
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import LAYERS
from pt2bugs.triage.program import without_header
from pt2bugs.triage.program_parts import indented, split
from pt2bugs.triage.redact import redact_source
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.trial import Laboratory

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
"""What would end a docstring, or escape in it."""
ISSUE = "https://github.com/pytorch/pytorch/issues"
MAX_TITLE = 110


@dataclass(frozen=True)
class HandedOver:
    """The files, and for each that does not fail as the program does a sentence that says so."""

    case: Path
    test: Path
    problems: tuple[str, ...]


def hand_over(
    lab: Laboratory,
    source: str,
    found: Reproduction,
    classification: Classification,
    name: str,
    folder: Path,
    releases: str = "",
    *,
    passes_plain: bool = True,
) -> HandedOver:
    """Write the case and the unit test of the program `source`, and run both.

    Args:
        releases: a specifier of those that have the bug; empty: the one at hand.
        passes_plain: whether the program was seen to pass without the compiler.

    Raises:
        EngineError: the engine cannot be started.
    """
    word = _identifier(name)
    source = redact_source(without_header(source))
    expected = found.oracle.reference
    case, test = folder / "case.py", folder / f"test_{word}.py"
    text = case_text(
        source,
        found,
        classification,
        word,
        public(lab.torch),
        expected=expected,
        releases=releases,
        passes_plain=passes_plain,
    )
    write_text(case, text)
    write_text(test, test_text(source, classification, word, expected))
    runs: tuple[tuple[Path, dict[str, Any]], ...] = (
        (case, {"kind": "check", "check": f"test_{word}", "arguments": {}, "compiles": False}),
        (test, {"unit_test": True}),
    )
    problems = []
    for path, request in runs:
        shown = None if lab.budget.is_over else lab.run(path, timeout_s=lab.timeout_s, **request)
        if shown is not None and has_identity(shown.identity, found.identity):
            continue
        # A run that the budget cut short says nothing.
        if shown is None or (shown.outcome is Outcome.TIMEOUT and lab.budget.is_over):
            problems.append(f"{path.name} was not seen to fail: the budget was spent")
        else:
            problems.append(f"{path.name} does not fail as the program does: {shown.observation.summary[:200]}")
    return HandedOver(case, test, tuple(problems))


def has_identity(one: Identity, other: Identity) -> bool:
    """Whether a check or a test made of a program shows its failure; its lines are others."""
    if other.error_type == "" and other.outcome is Outcome.WRONG:
        return one.outcome in (Outcome.WRONG, Outcome.RAISE) and "AssertionError" in one.error_type
    if (one.outcome, one.signal, one.error_type) != (other.outcome, other.signal, other.error_type):
        return False
    if one.outcome not in (Outcome.RAISE, Outcome.WRONG):
        return True
    return one.signature == other.signature or (bool(one.place) and one.place == other.place)


def _identifier(name: str) -> str:
    word = re.sub(r"\W+", "_", name).strip("_").lower()
    return word if word and not word[0].isdigit() else f"program_{word}".strip("_")


def case_text(
    source: str,
    found: Reproduction,
    classification: Classification,
    word: str,
    torch: str,
    *,
    expected: str | None = None,
    releases: str = "",
    passes_plain: bool = True,
) -> str:
    """A case file: the header from what was found, the program as its check; what only a person knows is marked."""
    identity = found.identity
    outcome = identity.outcome
    entry = [f"torch = {json.dumps(releases or f'=={torch}')}", f"outcome = {json.dumps(str(outcome))}"]
    if identity.error_type:
        entry.append(f"error = {json.dumps(identity.error_type)}")
    if outcome in (Outcome.RAISE, Outcome.WRONG) and identity.error_type:
        entry.append(f"match = {json.dumps(pattern_of(identity))}")
        if not identity.message.strip() and identity.place:
            file, _, function = identity.place.partition(" ")
            entry.append(f"frame = {json.dumps(f'{_escaped(file)}:.* {_escaped(function)}')}")
    if identity.signal:
        entry.append(f"signal = {json.dumps(identity.signal)}")
    title = _title(identity)
    header = [
        "# /// script",
        '# requires-python = ">=3.10"',
        f'# dependencies = ["torch=={torch}", "numpy", "setuptools"]',
        "#",
        "# [tool.pt2bugs]",
        f"# issue = {json.dumps(ISSUE)}  # {MARK}: the address of the issue",
        f"# title = {json.dumps(title)}",
        f"# component = {json.dumps(classification.component or 'dynamo')}",
        f"# symptom = {json.dumps(classification.symptom or 'internal-error')}",
        '# devices = ["cpu"]',
        *_settings(found),
        "#",
        "# [[tool.pt2bugs.bug]]",
        *(f"# {line}" for line in entry),
        "# ///",
    ]
    doc = [
        f'"""{title.removesuffix(" ...")}.'.translate(_NO_BACKSLASH),
        *textwrap.wrap(f"Found by triage on torch {torch}: {classification.why}.".translate(_NO_DOCSTRING), 110),
        f"{MARK}: why it happens, in the field's terms",
        _correct(classification, passes_plain=passes_plain),
        '"""',
    ]
    parts = split(source)
    function = f"def test_{word}() -> None:"
    body = _compared(parts.body, expected) if expected is not None else parts.body
    imports = "import contextlib\nimport io\n\n" if expected is not None else ""
    check = [function, *([f"    global {', '.join(parts.names)}"] if parts.names else []), indented(body, "    ")]
    main = ["", "", 'if __name__ == "__main__":', f"    test_{word}()", ""]
    return "\n".join([*header, *doc, "", imports + parts.top, "", "", *check, *main])


def _correct(classification: Classification, *, passes_plain: bool) -> str:
    if classification.symptom == "missing-error":
        return "Correct: the exception that the program expects is raised."
    return (
        f"Correct: the program ends without an exception{', as it does without the compiler' if passes_plain else ''}."
    )


def _settings(found: Reproduction) -> list[str]:
    """The lines of a header that say what the program asks for, where that is not the usual."""
    lines = []
    named = [name for name in found.trial.backends if name in LAYERS]
    if named and "inductor" not in found.trial.backends:
        lines.append(f"# backends = [{json.dumps(named[0])}]")
    if "compile" not in found.trial.entered:
        lines.append("# compiles = false")
    return lines


def pattern_of(identity: Identity) -> str:
    """A regular expression for what tells a message from others of its kind, numbers and addresses left open.

    That is its telling line and what stands inside: the line alone is one of a few hundred sentences.
    """
    line = telling_line(identity.message)
    inner = identity.inner[:120]
    if inner and inner in line:
        return _escaped(inner)
    line = line[:120]
    return f"{_escaped(line)}[\\s\\S]*{_escaped(inner)}" if inner else _escaped(line) or "^$"


def _escaped(line: str) -> str:
    text = re.sub(r"\\?\d+", lambda _: r"\d+", re.escape(line))
    return re.sub(r"\\([ '\"\-,:;=<>&~#@!%/])", r"\1", text)


def _title(identity: Identity) -> str:
    """The failure in one line of a header; of a long one what is said inside, as far as whole words go."""
    title = identity.headline
    if len(title) > MAX_TITLE and identity.inner:
        title = f"{identity.error_type.rpartition('.')[2]}: {identity.inner}"
    title = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    title = title.replace('"', "'").replace("\\", "/")
    return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 4].rsplit(" ", 1)[0] + " ..."


def _compared(body: str, expected: str) -> str:
    return (
        "printed = io.StringIO()\nwith contextlib.redirect_stdout(printed):\n"
        + indented(body, "    ")
        + f"\nassert printed.getvalue() == {expected!r}, printed.getvalue()"
    )


def test_text(source: str, classification: Classification, word: str, expected: str | None = None) -> str:
    """A unit test in the style of PyTorch's own: it fails as long as the program does."""
    file, owner = TEST_FILES.get(classification.component or "", ("test/dynamo/test_repros.py", "oncall: pt2"))
    parts = split(source)
    camel = "".join(part.capitalize() for part in word.split("_"))
    lines = [
        f'# Owner(s): ["{owner}"]',
        f"# Belongs to {file}.",
        "",
    ]
    if expected is not None:
        lines += ["import contextlib", "import io", ""]
    lines += [_importing(parts.top, "from torch.testing._internal.common_utils import TestCase, run_tests"), "", ""]
    body = parts.body if expected is None else _printed(parts.body, expected)
    method = [f"    def test_{word}(self):"]
    if parts.names:
        method.append(f"        global {', '.join(parts.names)}")
    method.append(indented(body, "        "))
    lines += [f"class {camel}Tests(TestCase):", *method, "", "", 'if __name__ == "__main__":', "    run_tests()", ""]
    return "\n".join(lines)


def _importing(top: str, line: str) -> str:
    """The top of a module with one import more, behind those that it begins with."""
    last = 0
    for node in ast.parse(top).body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            break
        last = node.end_lineno or node.lineno
    lines = top.splitlines()
    return "\n".join([*lines[:last], line, *lines[last:]])


def _printed(body: str, expected: str) -> str:
    return (
        "printed = io.StringIO()\nwith contextlib.redirect_stdout(printed):\n"
        + indented(body, "    ")
        + f"\nself.assertEqual(printed.getvalue(), {expected!r})"
    )


COLLECT_ENV = """
import re
from importlib.metadata import distributions
from torch.utils.collect_env import get_env_info, pretty_str

facts = get_env_info()
if not facts.pip_packages:  # an environment without pip
    wanted = re.compile("(torch|triton|numpy|optree|onnx|nvidia|mypy|flake8)", re.I)
    found = {one.metadata["Name"]: one.version for one in distributions() if wanted.match(one.metadata["Name"] or "")}
    lines = [f"{name}=={found[name]}" for name in sorted(found)]
    facts = facts._replace(pip_version="pip3", pip_packages="\\n".join(lines))
print(pretty_str(facts))
"""


def versions(lab: Laboratory, folder: Path) -> str:
    """What `torch.utils.collect_env` says there, without paths and secrets; facts of our own where it fails.

    Raises:
        EngineError: the engine cannot be started.
    """
    path = folder / "collect_env.py"
    write_text(path, COLLECT_ENV)
    try:
        trial = lab.run(path, stdout=True, timeout_s=60.0)
    finally:
        path.unlink(missing_ok=True)
    if trial.outcome is Outcome.PASS and "PyTorch version" in trial.stdout:
        return trial.stdout.strip()
    facts = lab.facts
    return f"PyTorch version: {facts.torch}\nPython version: {facts.python}\nOS: {facts.platform}"
