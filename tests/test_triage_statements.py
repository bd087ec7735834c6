"""Each line of `statements.toml` has a source, and the source has what the line says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from pt2bugs.case.corpus import brought, load_cases
from pt2bugs.triage.statements import rewrites, stated, statements

ENTRIES = [(kind, entry["match"], entry["source"]) for kind, entries in statements().items() for entry in entries]
WORDS = ("counted-compilations", "counted-graphs", "counted-breaks", "memory", "wanted-error")


@pytest.mark.parametrize(("kind", "pattern", "source"), [entry for entry in ENTRIES if entry[0] in WORDS])
def test_a_case_has_the_words_of_an_assertion(kind: str, pattern: str, source: str) -> None:
    cases = {case.id: case for case in load_cases([brought("cases")])}
    named = re.findall(r"\b(?:pytorch|aotautograd)_\w+", source)
    assert named
    for case in named:
        program = cases[case].path.read_text().partition("# ///\n")[2]
        # A count in an f-string is a number in the message.
        text = re.sub(r"\{[^{}]*\}", "2", f"{cases[case].title}\n{program}")
        assert re.search(pattern, text), (case, pattern)


@pytest.mark.parametrize(("kind", "pattern", "source"), [entry for entry in ENTRIES if entry[0].endswith("-type")])
def test_torch_has_the_exception(kind: str, pattern: str, source: str) -> None:
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        pytest.skip("torch is not installed")
    file, name = source.partition(";")[0].split()
    assert re.search(rf"^ *class {name}\b", (Path(torch.origin).parents[1] / file).read_text(), re.MULTILINE)
    assert stated(kind, f"{file.removesuffix('.py').replace('/', '.')}.{name}")
    assert re.search(pattern, f"{file.removesuffix('.py').replace('/', '.')}.{name}")


def test_hints_that_suggest_a_rewrite() -> None:
    message = """Unsupported call
  Hint: This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace it.
  Hint: Use `torch.cond` to express dynamic control flow.
  Hint: It may be possible to write Dynamo tracing rules for this code.
  Hint: Use `torch.cond` to express dynamic control flow.
"""
    assert rewrites(message) == ("Use `torch.cond` to express dynamic control flow.",)
