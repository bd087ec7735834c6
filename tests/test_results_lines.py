"""A journal of any lines: what is read is a record, and each line that is not read is told of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pt2bugs.results.journal import (
    FULL,
    KEYS,
    OPTIONAL_KEYS,
    RUN_KEYS,
    SCHEMA,
    JournalError,
    JournalWriter,
    Record,
    problem_of,
    read_journal,
)
from test_results_journal import record

SOME = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.lists(st.integers() | st.text(max_size=3), max_size=2)
    | st.sampled_from(["2.13.0", "3.11.7", "pass", "xfail", "cpu"])
)
CHANGES = st.dictionaries(st.sampled_from([*KEYS, *OPTIONAL_KEYS, "kind"]), SOME, max_size=3)


def read(path: Path) -> tuple[list[Record], list[str]]:
    warnings: list[str] = []
    return list(read_journal([path], warnings.append)), warnings


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CHANGES, st.sets(st.sampled_from(KEYS), max_size=2), st.booleans()), min_size=1, max_size=6))
def test_any_line(tmp_path: Path, changed: list[tuple[dict[str, Any], set[str], bool]]) -> None:
    path = tmp_path / "a.jsonl"
    texts = []
    for changes, gone, is_short in changed:
        whole = {**record(), **({"schema": SCHEMA} if is_short else {}), **changes}
        whole = {key: value for key, value in whole.items() if key not in gone and not (is_short and key in RUN_KEYS)}
        texts.append(json.dumps(whole))
    facts = {key: record()[key] for key in RUN_KEYS if key in KEYS}  # type: ignore[literal-required]
    texts.insert(1, json.dumps({"schema": SCHEMA, "kind": "run", "run_id": record()["run_id"], **facts}))
    path.write_text("\n".join(texts) + "\n")
    try:
        records, warnings = read(path)
    except JournalError as error:
        assert "is newer than" in str(error)
        return
    assert [problem_of({**line}) for line in records] == [""] * len(records)
    assert all(set(KEYS) <= set(line) for line in records)
    told = sum("dropped the lines of run" in warning for warning in warnings)
    runs = sum(json.loads(text).get("kind") == "run" and json.loads(text)["schema"] == SCHEMA for text in texts)
    assert len(texts) - runs <= len(records) + len(warnings) + (len(texts) if told else 0)


def test_both_schemas(tmp_path: Path) -> None:
    short, whole = tmp_path / "short.jsonl", tmp_path / "whole.jsonl"
    records = [
        record(schema=FULL, run_id="one", frames=["torch/a.py:1 f"]),
        record(schema=FULL, run_id="one"),
        record(schema=FULL, run_id="one", host="x86_64"),
    ]
    for path, shares_facts in ((short, True), (whole, False)):
        journal = JournalWriter(path, shares_facts=shares_facts)
        for line in records:
            journal.append(line)
        journal.close()
    assert read(short) == read(whole) == (records, [])
    assert [list(line) for line in read(short)[0]] == [list(line) for line in read(whole)[0]], "the order of keys, too"


def test_a_torn_line_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = json.dumps(record())
    path.write_text(f"{text}\n{text[:200]}{text}\n\n{text}\n{text[:-1]}")
    records, warnings = read(path)
    assert records == [record(), record()]
    assert warnings == [f"{path}:2: dropped a torn line", f"{path}:5: dropped a torn line"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"torch": 5}, "torch: Expected `str`, got `int`"),
        ({"outcome": "banana"}, "outcome: Invalid enum value 'banana'"),
        ({"repeat": 0}, "repeat: Expected `int` >= 1"),
        ({"extras": [1]}, "extras[0]: Expected `str`, got `int`"),
        ({"schema": FULL}, ""),
    ],
)
def test_the_message_names_the_key(changes: dict[str, Any], message: str) -> None:
    assert problem_of({**record(), **changes}) == message


def test_a_key_that_is_missing() -> None:
    value: dict[str, Any] = {**record()}
    del value["torch"]
    assert problem_of(value) == "Object missing required field `torch`"
