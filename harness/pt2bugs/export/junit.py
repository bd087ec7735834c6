"""`junit`: JUnit XML, a test suite per release. Documented failures are skipped with the reason.

JUnit XML has no single schema. The file is valid by the strict one of Ant's reports, which asks for every attribute and
for the empty output elements, and by that of Jenkins.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import groupby
from typing import Any

from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import FAILURES, Verdict
from pt2bugs.export import Selected
from pt2bugs.export.json import records
from pt2bugs.results.line import version_key

_SKIPPED = (Verdict.XFAIL, Verdict.SKIP)
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""


def render(selected: Selected) -> bytes:
    root = ET.Element("testsuites")
    rows = sorted(records(selected), key=_suite)
    for number, ((_, release), group) in enumerate(groupby(rows, key=_suite)):
        _add_suite(root, number, f"torch {release or 'unknown'}", list(group))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(row: dict[str, Any]) -> tuple[Any, str]:
    return version_key(row["release"]), row["release"]


def _xml(text: str) -> str:
    return _NOT_XML.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _add_suite(root: ET.Element, number: int, name: str, rows: list[dict[str, Any]]) -> None:
    verdicts = [row["verdict"] for row in rows]
    skipped = sum(verdict in _SKIPPED for verdict in verdicts)
    errors = verdicts.count(Verdict.ERROR)
    passed = verdicts.count(Verdict.PASS)
    suite = ET.SubElement(
        root,
        "testsuite",
        id=str(number),
        package="pt2bugs",
        name=_xml(name),
        tests=str(len(rows)),
        failures=str(len(rows) - passed - skipped - errors),
        errors=str(errors),
        skipped=str(skipped),
        time=f"{sum(row['duration_s'] for row in rows):.3f}",
        timestamp=min(row["started"] for row in rows)[:19],
        hostname="localhost",
    )
    properties = ET.SubElement(suite, "properties")
    for key in ("torch", "torch_git", "python", "platform", "device", "device_name", "cpu_capability"):
        values = dict.fromkeys(str(value) for row in rows if (value := row[key]))
        ET.SubElement(properties, "property", name=key, value=_xml(", ".join(values)))
    for row in rows:
        _add_case(suite, row)
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")


def _add_case(suite: ET.Element, row: dict[str, Any]) -> None:
    extras = "".join(f"+{extra}" for extra in row["extras"])
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_xml(f"{row['component'] or 'private'}.{row['case']}"),
        name=_xml(f"{row['check']}[{row['device']}-{row['backend']}]{extras}"),
        time=f"{row['duration_s']:.3f}",
    )
    verdict = row["verdict"]
    summary = _xml(Observation.from_dict(row).summary)
    if verdict == Verdict.XFAIL:
        ET.SubElement(case, "skipped", message=_xml(f"documented: {row['issue']} ({summary})"))
    elif verdict == Verdict.SKIP:
        blocked = "blocked by another limitation: " if row["outcome"] in FAILURES else ""
        ET.SubElement(case, "skipped", message=blocked + summary)
    elif verdict == Verdict.ERROR:
        ET.SubElement(case, "error", message=summary, type="environment").text = _xml(row["message"])
    elif verdict != Verdict.PASS:
        kind = _xml(row["error_type"] or row["signal"] or verdict)
        failure = ET.SubElement(case, "failure", message=f"{verdict}: {summary}", type=kind)
        failure.text = _xml(row["message"])
