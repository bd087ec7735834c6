"""`junit`: JUnit XML, a test suite per release and device. Documented failures are skipped with the reason."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import groupby
from typing import Any

from harness.export import Selected
from harness.export.json import records
from harness.outcome import Verdict

_SKIPPED = (Verdict.XFAIL, Verdict.SKIP)


def render(selected: Selected) -> bytes:
    root = ET.Element("testsuites", name="pt2bugs")
    rows = sorted(records(selected), key=_suite)
    for (_, release, device), group in groupby(rows, key=_suite):
        _add_suite(root, f"torch {release} {device}", list(group))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(row: dict[str, Any]) -> tuple[Any, str, str]:
    from harness.matrix import version_key

    return version_key(row["release"]), row["release"], row["device"]


def _add_suite(root: ET.Element, name: str, rows: list[dict[str, Any]]) -> None:
    verdicts = [row["verdict"] for row in rows]
    skipped = sum(verdict in _SKIPPED for verdict in verdicts)
    errors = verdicts.count(Verdict.ERROR)
    passed = verdicts.count(Verdict.PASS)
    suite = ET.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(rows)),
        failures=str(len(rows) - passed - skipped - errors),
        errors=str(errors),
        skipped=str(skipped),
        time=f"{sum(row['duration_s'] for row in rows):.3f}",
        timestamp=min(row["started"] for row in rows)[:19],
        hostname="localhost",
    )
    first = rows[0]
    properties = ET.SubElement(suite, "properties")
    for key in ("torch", "torch_git", "python", "platform", "device", "device_name", "cpu_capability"):
        ET.SubElement(properties, "property", name=key, value=str(first[key]))
    for row in rows:
        _add_case(suite, row)


def _add_case(suite: ET.Element, row: dict[str, Any]) -> None:
    extras = "".join(f"+{extra}" for extra in row["extras"])
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"{row['component'] or 'private'}.{row['case']}",
        name=f"{row['check']}[{row['device']}-{row['backend']}]{extras}",
        time=f"{row['duration_s']:.3f}",
    )
    verdict = row["verdict"]
    first = next((line for line in row["message"].splitlines() if line.strip()), "")
    words = f"{row['outcome']} {row['signal'] or row['error_type']} {first}".strip()[:300]
    if verdict == Verdict.XFAIL:
        ET.SubElement(case, "skipped", message=f"documented: {row['issue']} ({words})")
    elif verdict == Verdict.SKIP:
        ET.SubElement(case, "skipped", message=words)
    elif verdict == Verdict.ERROR:
        ET.SubElement(case, "error", message=words, type="environment").text = row["message"]
    elif verdict != Verdict.PASS:
        failure = ET.SubElement(case, "failure", message=f"{verdict}: {words}", type=row["error_type"] or verdict)
        failure.text = row["message"]
