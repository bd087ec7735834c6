"""What is known, what is similar, what is neither: on a corpus whose bugs were seen to fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from known_bugs import BACKEND_FAILED, INTERNAL, UNSUPPORTED, write_known_bugs
from pt2bugs.case.corpus import brought, load_cases
from pt2bugs.case.patterns import search
from pt2bugs.match.known import IDENTITY, SIMILAR, STRUCTURE, KnownBugs, Match, _is_in
from pt2bugs.match.structure import Structure, traits_of
from pt2bugs.match.wording import (
    any_numbers,
    any_program,
    is_mistake,
    is_ordinary,
    is_ordinary_code,
    ordinary_messages,
    words_of,
)
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import journal_files, read_journal


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> KnownBugs:
    cases, results = write_known_bugs(tmp_path_factory.mktemp("corpus"))
    return KnownBugs.load(Results(results), [cases], print)


def traceback(end: str, *frames: str, program: str = '  File "mine.py", line 3, in <module>\n    main()\n') -> str:
    """A traceback; frames are given as the journal has them, the outermost first."""
    lines = []
    for frame in frames:
        place, _, function = frame.partition(" ")
        file, _, line = place.rpartition(":")
        lines.append(f'  File "/venv/site-packages/{file}", line {line}, in {function}\n')
    return f"Traceback (most recent call last):\n{program}{''.join(lines)}{end}\n"


def matches(known: KnownBugs, text: str, torch: str = "") -> list[Match]:
    (recognized,) = known.recognize(text, torch)
    return list(recognized.matches)


def kinds(known: KnownBugs, text: str, torch: str = "") -> dict[str, str]:
    return {match.case.id: match.kind for match in matches(known, text, torch)}


MASK = f"{UNSUPPORTED}: call torch._frobnicate_left_aligned_mask returned a bool"


@pytest.mark.parametrize(
    "end",
    [
        MASK,
        f'{MASK}\n\nfrom user code:\n   File "mine.py", line 2, in g\n    return other(x)\n',
        MASK.removeprefix("torch._dynamo.exc."),  # as notebooks print it
    ],
)
def test_a_pattern_that_says_enough(known: KnownBugs, end: str) -> None:
    assert kinds(known, traceback(end)) == {"pytorch_1": IDENTITY}


def test_another_type_is_not_the_bug(known: KnownBugs) -> None:
    told = kinds(known, traceback(MASK.replace(UNSUPPORTED, "ValueError")))
    assert told.get("pytorch_1") != IDENTITY


def test_a_cause_is_known_too(known: KnownBugs) -> None:
    wrapped = "ZeroDivisionError: glorp\n\nThe above exception was the direct cause of the following exception:\n\n"
    end = (
        f"{BACKEND_FAILED}: backend='inductor' raised:\nLoweringException: ZeroDivisionError: glorp lowering got an "
        "empty reduction range 12\n  target: aten.glorp.default"
    )
    assert kinds(known, traceback(wrapped) + traceback(end)) == {"pytorch_5": IDENTITY}


GUARDS = ("torch/_dynamo/convert_frame.py:7 compile_inner", "torch/_dynamo/guards.py:8 build_quux")


def test_a_silent_failure_is_known_by_its_frames(known: KnownBugs) -> None:
    assert kinds(known, traceback(INTERNAL, *GUARDS, "torch/_dynamo/guards.py:9 check_quux")) == {"pytorch_2": IDENTITY}
    assert kinds(known, traceback(INTERNAL, *GUARDS, "torch/_dynamo/guards.py:9 other")) == {}
    assert kinds(known, traceback(INTERNAL)) == {}


def test_what_torch_refuses_on_purpose_is_not_known_by_the_frames_that_refuse(known: KnownBugs) -> None:
    frames = [f"torch/_refs/__init__.py:{line} {name}" for line, name in enumerate(("expand", "corge", "quux"))]
    end = "torch._dynamo.exc.TorchRuntimeError: Failed running call_method expand: expand: the requested shape has too"
    assert kinds(known, traceback(f"{end} few dimensions!", *frames)) == {"pytorch_6": SIMILAR}


def test_what_was_printed_before_tells(known: KnownBugs) -> None:
    text = traceback(
        f"{BACKEND_FAILED}: backend='xyzzy' raised:\nRuntimeError: JIT compilation failed. See diagnostics."
    )
    assert kinds(known, f"error: xyzzy cannot be legalized\n{text}") == {"pytorch_7": IDENTITY}
    assert kinds(known, text) == {"pytorch_7": SIMILAR}
    other = traceback("ValueError: of its own")
    assert IDENTITY not in {
        match.kind
        for recognized in known.recognize(f"error: xyzzy cannot be legalized\n{other}{text}")
        for match in recognized.matches
    }


def test_blanks_at_the_ends_of_lines_are_lost_on_the_way() -> None:
    assert _is_in(r"AssertionError: \s*target: aten", "AssertionError:\n  target: aten.add")


@pytest.mark.parametrize(
    ("pattern", "mistake", "ordinary"),
    [
        (r"modified by an inplace operation: \[torch\.FloatTensor \[2\]\] is at version 7", True, True),
        (r"size of tensor a \(0\) must match the size of tensor b \(12\)", True, True),
        (r"Node add\w* was invalid, but is output", False, True),
        (r"invalid syntax \(<eval_with_key>", True, True),
        (r"unsupported operand type\(s\) for \+: 'FakeTensor' and 'NoneType'", True, True),
        (r"[0-9]+ frobnications are too few", False, False),
    ],
)
def test_ordinary_patterns_numbers_aside(pattern: str, mistake: bool, ordinary: bool) -> None:
    assert (is_mistake(pattern), is_ordinary(pattern)) == (mistake, ordinary)


NOT_CLOSE = "AssertionError: Tensor-likes are not close!"


@pytest.mark.parametrize(
    "end",
    [
        NOT_CLOSE,
        f"{NOT_CLOSE}\n\nMismatched elements: 1 / 3 (33.3%)\nGreatest absolute difference: 3.0 at index (2,)",
        "AssertionError",
        "AssertionError: assert 3 == 4",
    ],
)
def test_a_generic_message_is_never_known_alone(known: KnownBugs, end: str) -> None:
    assert IDENTITY not in kinds(known, traceback(end)).values()


def test_a_generic_message_is_known_by_the_programs_own_line(known: KnownBugs) -> None:
    def program(code: str, file: str = "mine.py") -> str:
        return f'  File "{file}", line 3, in flipped\n    {code}\n'

    own = "return torch.flip(x.transpose(0, 1), (0,)).sum(dim=1)"
    assert kinds(known, traceback(NOT_CLOSE, program=program(own))) == {"pytorch_3": IDENTITY}
    assert kinds(known, traceback(NOT_CLOSE, program=program(own.replace("flip", "roll")))) == {}
    assert kinds(known, traceback(NOT_CLOSE, program=program("check(x)", "cases/inductor/pytorch_3.py"))) == {
        "pytorch_3": IDENTITY
    }


def test_a_crash_needs_more_than_its_signal(known: KnownBugs) -> None:
    crash = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
    assert IDENTITY not in kinds(known, f'{crash}  File "mine.py", line 3 in f\n').values()
    assert kinds(known, f"{crash}\nwhat(): plugh_kernel_launch: bad grid\n") == {"pytorch_4": IDENTITY}


def test_likeness_ranks(known: KnownBugs) -> None:
    end = f"{UNSUPPORTED}: call torch._frobnicate_right_aligned_mask returned a bool"
    frames = ("torch/_dynamo/variables/torch.py:1 call_function", "torch/_dynamo/exc.py:2 unimplemented")
    (match,) = matches(known, traceback(end, *frames))
    assert (match.case.id, match.kind) == ("pytorch_1", SIMILAR)
    assert 0.5 <= match.score < 0.9


def test_an_entry_speaks_of_its_releases(known: KnownBugs) -> None:
    assert kinds(known, traceback(MASK), "2.9.1") == {"pytorch_1": IDENTITY}
    assert kinds(known, traceback(MASK), "2.11.0") == {"pytorch_1": SIMILAR}


@pytest.mark.parametrize(
    "end",
    [
        "ValueError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)",
        "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB",
        f"{UNSUPPORTED}: call print returned None",
        f"{BACKEND_FAILED}: backend='inductor' raised:\nLoweringException: ZeroDivisionError: division by zero\n"
        "  target: aten.mul.Tensor",
        f"{INTERNAL}: 'NoneType' object has no attribute 'shape'",
        "KeyError: 'mask'",
    ],
)
def test_other_failures_are_not_known(known: KnownBugs, end: str) -> None:
    assert IDENTITY not in kinds(known, traceback(end)).values()


def test_where_a_bug_begins_and_ends(known: KnownBugs) -> None:
    by_id = {id_: bug.case for id_, bug in known.bugs.items()}
    lives = {id_: known.life(case) for id_, case in by_id.items()}
    assert (lives["pytorch_1"].since, lives["pytorch_1"].until) == ("", "2.10.0")
    assert (lives["pytorch_3"].since, lives["pytorch_3"].until) == ("2.8.0", "")
    (match,) = matches(known, traceback(MASK), "2.9.1")
    told = known.as_dict(match, "2.9.1")
    assert "you are on 2.9.1: upgrade to torch 2.10.0" in told["advice"]
    assert told["reproduce"].startswith("uv run ")
    assert told["fix"].endswith("/pull/11")


def test_what_was_printed_tells_two_crashes_apart(tmp_path: Path) -> None:
    """An older line of the cell, of which less was kept, does not speak for the newer ones."""
    cases, results = write_known_bugs(tmp_path)
    lines = read_journal(journal_files(results / "journal"), print)
    crash = next(line for line in lines if line["case"] == "pytorch_4" and line["signal"])
    known = KnownBugs(load_cases([cases]))
    assert known.documented({**crash, "output_tail": ""}) is None
    assert known.documented(crash) is not None


def test_without_a_journal_the_headers_answer(known: KnownBugs) -> None:
    cases = [bug.case for bug in known.bugs.values()]
    alone = KnownBugs(cases)
    (match,) = matches(alone, traceback(MASK))
    assert (match.case.id, match.kind) == ("pytorch_1", IDENTITY)
    assert alone.life(match.case).until == "2.10"


def test_words_leave_out_what_varies() -> None:
    message = "could not view /home/a/x.py:3 of size [3, 4] at 0x7f001122 as primals_12, see L['self'].weight"
    other = "could not view /opt/b/y.py:9 of size [7, 8] at 0x7f334455 as primals_3, see L['mod'].bias"
    assert words_of(message) == words_of(other) >= {"could", "view", "size"}


@pytest.mark.parametrize("kind", ["mistake", "shared"])
def test_each_ordinary_message_is_earned_by_a_case(kind: str) -> None:
    """A line that no documented pattern fits has no effect, and goes."""
    patterns: dict[str, list[str]] = {}
    for case in load_cases([brought("cases")]):
        patterns[case.id] = [any_numbers(text) for bug in case.bugs for text in (bug.match, bug.output) if text]
    for entry in ordinary_messages()[kind]:
        assert entry["cases"]
        for case in entry["cases"]:
            assert any(search(pattern, entry["says"]) for pattern in patterns[case]), (case, entry["says"])


def test_each_ordinary_line_of_code_is_earned_by_a_case() -> None:
    """Without its pattern the line would be taken for the case's own."""
    programs = {case.id: case.path.read_text() for case in load_cases([brought("cases")])}
    for entry in ordinary_messages()["code"]:
        assert [other for other in ordinary_messages()["code"] if re.search(other["match"], entry["says"])] == [entry]
        for case in entry["cases"]:
            assert re.search(rf"^\s*{re.escape(entry['says'])}$", programs[case], re.MULTILINE), entry
    assert not is_ordinary_code("y = frobnicate(x, left_aligned=True)")


def test_a_documented_first_line_is_at_least_similar(known: KnownBugs) -> None:
    """Whatever stands below it, and in whatever words the type is printed."""
    line = "call torch._frobnicate_left_aligned_mask returned a bool"
    other = " ".join(f"unrelated{number} words of another program" for number in range(40))
    assert kinds(known, traceback(f"WrappedError: {line}\n{other}")) == {"pytorch_1": SIMILAR}


def test_names_and_sizes_of_the_case_are_no_part_of_what_is_recognized() -> None:
    stack = r"(?s)Guard failed.*mode_stack_at\(0\)\.count == \d{1,2}"
    assert any_program(stack, frozenset({"count", "s"})) == r"(?s)Guard failed.*mode_stack_at\(\d+\)\.\w+ == \d{1,2}"
    assert any_program(r"stride: \(1, 2\) vs", frozenset()) == r"stride: \(\d+, \d+\) vs"


def test_a_bug_that_is_fixed_is_no_answer_for_what_is_merely_like_it(known: KnownBugs) -> None:
    end = f"{UNSUPPORTED}: call torch._frobnicate_other_mask returned a bool"
    frames = ("torch/_dynamo/variables/torch.py:1 call_function", "torch/_dynamo/exc.py:2 unimplemented")
    assert kinds(known, traceback(end, *frames), "2.9.1") == {"pytorch_1": SIMILAR}
    assert kinds(known, traceback(end, *frames), "2.11.0") == {}


def test_a_wrong_result_is_recognized_by_its_structure() -> None:
    """In another program of the same operators; that alone makes it known nowhere."""
    known = KnownBugs(load_cases([brought("cases")]))
    program = known.bugs["pytorch_117265"].case.path.read_text().replace("def ", "def renamed_")
    rung = known.bugs["pytorch_117265"].case.backends[0]
    alike = known.of_structure(Structure.of(program, rung, "wrong-result"))
    assert {match.kind for match in alike} == {STRUCTURE}
    assert "pytorch_117265" in {match.case.id for match in alike}
    assert not any(match.is_known for match in alike)
    assert known.of_structure(Structure.of(program, "none", "wrong-result")) == []
    assert known.of_structure(Structure.of(program, rung, "crash")) == []
    assert known.of_structure(Structure.of("x = torch.ones(3)", rung, "wrong-result")) == []


@pytest.mark.parametrize(
    ("case", "rung", "program"),
    [
        (
            "pytorch_197434",
            "inductor",
            "import torch\nnet = torch.nn.AdaptiveMaxPool2d(3, return_indices=True)\nf = lambda a: net(a.mT * 2)\n",
        ),
        (
            "pytorch_198189",
            "eager",
            "import torch\nfrom collections import OrderedDict\ndef use(x, d: OrderedDict):\n    d.move_to_end('a')\n"
            "    return x + torch.ones(2)\nuse(OrderedDict(a=1))\n",
        ),
        (
            "pytorch_189518",
            "inductor",
            "import torch\nf = lambda n, x: torch.full((n, 2), True).cumsum(-1, dtype=torch.half)\n",
        ),
    ],
)
def test_a_program_in_other_words_is_alike(case: str, rung: str, program: str) -> None:
    known = KnownBugs(load_cases([brought("cases")]))
    (first, *_) = known.of_structure(Structure.of(program, rung, "wrong-result"))
    assert first.case.id == case


def test_traits_are_operators_dtypes_and_layouts() -> None:
    program = "import torch\n\ndef f(a):\n    return torch.sum(a.half().T, dtype=torch.double).flip_(0)\n"
    traits = {"sum", "sum(dtype)", "flip", "float16", "float64", "transpose"}
    assert traits_of(program, "inductor") == traits == traits_of(program, "eager")
    assert traits_of("no Python", "eager") == frozenset()


def test_names_of_one_thing_are_one_trait() -> None:
    module = "import torch\nlayer = torch.nn.LayerNorm(3)\nlayer(torch.zeros_like(x).permute(1, 0))\n"
    function = "import torch\ntorch.nn.functional.layer_norm(torch.new_full(x).mT)\n"
    assert traits_of(module, "inductor") == traits_of(function, "inductor") == {"layernorm", "full", "transpose"}


def test_what_compares_results_is_no_trait() -> None:
    program = (
        "import torch\nassert torch.compile(lambda x: x.sin())(x).allclose(x.cos())\n"
        "torch.testing.assert_close(torch.compile(torch.erf)(x.tan()), torch.erf(x))\n"
    )
    assert traits_of(program, "inductor") == {"sin", "tan"}


def test_traits_of_python_count_where_dynamo_is_the_first_to_fail() -> None:
    program = """
import torch
from collections import OrderedDict

class Own:
    def __contains__(self, key: str) -> bool:
        self.seen = sorted(self.keys)
        return isinstance(key, OrderedDict) and self.find(torch.nn.Module)
"""
    traits = {"def __contains__", "sorted", "isinstance", "OrderedDict", ".keys", ".find"}
    assert traits_of(program, "eager") == traits
    assert traits_of(program, "inductor") == frozenset()
