"""`pt2bugs match`: exit codes, the JSON contract, bad input; and that it needs neither torch nor pandas."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from known_bugs import UNSUPPORTED, write_known_bugs
from pt2bugs.cli import main
from pt2bugs.isolate import fixes

KNOWN = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f(x)\n'
    f"{UNSUPPORTED}: call torch._frobnicate_left_aligned_mask returned a bool\n"
)
OTHER = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f(x)\nValueError: no\n'
KEYS = ["case", "issue", "title", "kind", "score", "introduced", "fixed", "fix", "advice", "reproduce"]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus and its journal, made the current one."""
    write_known_bugs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_exit_codes(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, code, said in ((KNOWN, 0, "known"), (OTHER, 1, "not known"), (KNOWN + OTHER, 1, "1 of 2 known")):
        (corpus / "log.txt").write_text(text)
        assert main(["match", "log.txt"]) == code
        first, *others = capsys.readouterr().err.splitlines()
        assert first == said
        assert [line[:25] for line in others] == ["next: pt2bugs triage SCRI"] * code, (
            "what is not known has a next step"
        )


def test_without_results_it_says_what_was_compared(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in a folder of its own with a checkout installed: "no known bug" would say more than is known."""
    (corpus / "log.txt").write_text(OTHER)
    assert main(["match", "log.txt", "--results", "nowhere"]) == 1
    assert "nowhere: has no journal; failures are compared with what headers document alone" in capsys.readouterr().err


def test_the_answer(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus / "log.txt").write_text(KNOWN)
    assert main(["match", "log.txt", "--torch", "2.9.1"]) == 0
    out = capsys.readouterr().out
    for text in (
        "known (",
        "pytorch_1  A padding mask makes the frobnicator untraceable",
        "https://github.com/pytorch/pytorch/issues/1, fixed in 2.10.0, by https://github.com/pytorch/pytorch/pull/11",
        "you are on 2.9.1: upgrade to torch 2.10.0",
        "uv run cases/dynamo/pytorch_1.py",
    ):
        assert text in out


def test_the_change_that_fixed_it_is_named(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unit = {"file": "_dynamo/variables/torch.py", "qualname": "frobnicate", "kind": "function"}
    question = {"case": "pytorch_1", "check": "test_it", "device": "cpu", "backend": "inductor", "direction": "fixed"}
    isolation = {**question, "bad": "2.9.1", "good": "2.10.0", "evidence": "patch", "units": [unit]}
    fixes.save(corpus / "results", [isolation, {**isolation, "check": "test_other", "evidence": "swap"}])
    (corpus / "log.txt").write_text(KNOWN)
    main(["match", "log.txt"])
    told = "; fixed in 2.10.0 by a change of _dynamo/variables/torch.py: frobnicate (patch)\n"
    assert told in capsys.readouterr().out


def test_json(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus / "log.txt").write_text(OTHER + KNOWN)
    assert main(["match", "log.txt", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["known", "tracebacks", "matches"]
    assert answer["known"] is False
    first, second = answer["tracebacks"]
    assert (first["text"], first["matches"]) == (OTHER.strip(), [])
    assert second["text"] == KNOWN.strip()
    (match,) = second["matches"]
    assert list(match) == KEYS
    assert answer["matches"] == [match]
    assert (match["case"], match["kind"], match["fixed"]) == ("pytorch_1", "identity", "2.10.0")


def test_the_release_is_read_from_collect_env(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus / "log.txt").write_text(f"PyTorch version: 2.9.1+cu128\n{KNOWN}")
    assert main(["match", "log.txt"]) == 0
    assert "you are on 2.9.1" in capsys.readouterr().out


def test_stdin(corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["match"], ["match", "-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(KNOWN.encode() + b"\xff")))
        assert main(arguments) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "log.txt: is empty"),
        (b" \n\n", "log.txt: is empty"),
        (b"all is well\n", "log.txt: has no traceback, no error line and no crash"),
        (b"\x00\x01\xff\xfe", "log.txt: has no traceback"),
    ],
)
def test_bad_input(corpus: Path, capsys: pytest.CaptureFixture[str], text: bytes, message: str) -> None:
    (corpus / "log.txt").write_bytes(text)
    assert main(["match", "log.txt"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_bad_arguments(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "nowhere.txt"]) == 2
    assert main(["match", "."]) == 2
    assert main(["match", "--torch", "newest"]) == 2
    err = capsys.readouterr().err
    assert err.count("cannot be read") == 2
    assert "--torch newest: not a release" in err


def test_utf_16(corpus: Path) -> None:
    (corpus / "log.txt").write_bytes(KNOWN.encode("utf-16"))
    assert main(["match", "log.txt"]) == 0


def test_it_imports_neither_torch_nor_pandas(corpus: Path) -> None:
    (corpus / "log.txt").write_text(KNOWN)
    program = (
        "import sys\nfrom pt2bugs.cli import main\nassert main(['match', 'log.txt']) == 0\n"
        "print(sorted({'torch', 'pandas', 'rich', 'requests', 'pytest'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_file_over_64_mib_is_refused(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its size, before it is read; one of just that size is read."""
    path = corpus / "log.txt"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    assert main(["match", "log.txt"]) == 2
    assert "log.txt: is larger than 64 MiB; cut out the part that failed" in capsys.readouterr().err
