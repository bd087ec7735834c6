"""The columns of the tables: the name, content and type of each."""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = 1
"""Rises whenever a column goes, or means something else; a new column does not raise it."""


@dataclass(frozen=True)
class Column:
    """A column. Its type is ``text``, ``texts`` (a list), ``integer`` or ``boolean``; any but a list may be null."""

    name: str
    type: str
    about: str


BUGS = (
    Column("bug", "text", "its id: the case that stands for all cases of one root"),
    Column("group", "text", "the same for bugs that share a root, an issue, a fix or isolated units: never split them"),
    Column("cases", "texts", "the ids of its cases, the one that stands for them first"),
    Column("issue", "text", "address of the issue of the first case"),
    Column("issues", "texts", "addresses of all issues of its cases"),
    Column("title", "text", "one line: what fails"),
    Column("kind", "text", "bug, limitation, missing-feature or by-design"),
    Column("component", "text", "the layer of the compiler"),
    Column("symptom", "text", "how it shows"),
    Column("labels", "texts", "further words of the headers"),
    Column("devices", "texts", "the devices that its cases are for"),
    Column("backends", "texts", "the backends that its cases are for"),
    Column("operators", "texts", "names of the operators that its programs call"),
    Column("flaky", "boolean", "it shows only sometimes"),
    Column("first_failing", "text", "the first measured release that shows it"),
    Column("first_failing_on", "text", "the day of that release, ISO 8601: the bug is as old or older"),
    Column("last_failing", "text", "the last measured release that shows it"),
    Column("last_failing_on", "text", "the day of that release, ISO 8601"),
    Column("left_censored", "boolean", "it is there in the first release that can say; null if it was never seen"),
    Column("introduced_after", "text", "the release before the one that brought it; null if left-censored"),
    Column("alive", "boolean", "the newest release that can say shows it; null if none can say"),
    Column("fixed_in", "text", "the first release without it after the last that shows it"),
    Column("fixed_on", "text", "the day of that release, ISO 8601"),
    Column("intervals", "texts", "each unbroken run of releases of a check that show it, in words"),
    Column("fix", "text", "address of the pull request or commit that fixed it"),
    Column("isolated_evidence", "text", "what the isolation of the fix rests on: cited, executed, swap, patch, proved"),
    Column("isolated_label", "text", "where the fix sits: python, header, native, mixed, several or unknown"),
    Column("isolated_units", "texts", "the changed units that fix it: FILE: QUALNAME, below the torch folder"),
    Column("isolated_bad", "text", "the release in which these units are wrong"),
    Column("isolated_good", "text", "the release from which the right ones are"),
    Column("upstream", "text", "state of the issue: open or closed"),
    Column("upstream_seen", "text", "the day on which it was in that state, ISO 8601"),
    Column("reported_on", "text", "the release that its reporter had"),
    Column("found_beside", "text", "where it was found, if it is not the issue's own failure"),
    Column("program", "text", "path of the first case's program; those of the others stand beside it"),
    Column("identity", "texts", "the documented failures, as the headers have them"),
    Column("seen_outcome", "text", "the outcome in the newest release that shows it"),
    Column("seen_error_type", "text", "the exception type there"),
    Column("seen_message", "text", "the message there"),
    Column("seen_frame", "text", "the innermost frame of torch there"),
    Column("seen_signal", "text", "the signal there"),
)
"""`bugs.parquet`, `bugs.jsonl`: one row for each distinct bug, sorted by `bug`."""

CELLS = (
    Column("case", "text", "id of the case"),
    Column("bug", "text", "the row of `bugs` that it belongs to; null for a guard, which passes everywhere"),
    Column("check", "text", "name of the function"),
    Column("device", "text", "where it ran"),
    Column("backend", "text", "the torch.compile backend"),
    Column("extras", "text", "packages beside torch"),
    Column("torch", "text", "public version"),
    Column("torch_git", "text", "the commit that it was built from"),
    Column("python", "text", "minor version"),
    Column("platform", "text", "machine and system"),
    Column("cpu_capability", "text", "as torch names it"),
    Column("outcome", "text", "what the process showed"),
    Column("verdict", "text", "the outcome by the header"),
    Column("state", "text", "bug, no bug or cannot say"),
    Column("error_type", "text", "exception type, dotted"),
    Column("message", "text", "bounded"),
    Column("frame", "text", "innermost frame of torch"),
    Column("signal", "text", "that ended it"),
    Column("graphs", "integer", "captured graphs"),
    Column("breaks", "integer", "graph breaks"),
    Column("kernels", "integer", "kernels of Inductor"),
    Column("fallbacks", "integer", "calls of Inductor that fell back to ATen"),
)
"""`cells.parquet`: the newest line of every cell, in the order of the matrix."""

SPLIT = (
    Column("bug", "text", "as in `bugs`"),
    Column("part", "text", "the side that it is on"),
)
"""`splits/*.csv`."""
