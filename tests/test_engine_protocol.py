"""The report pipe: what a check does to descriptors that are not its own does not keep its report out."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from pt2bugs.engine.protocol import ReportPipe, ReportReader

NONCE = "0123456789abcdef"
CHUNK = b"x" * (1 << 16)


@pytest.fixture
def ends() -> Iterator[tuple[ReportReader, ReportPipe]]:
    reader, writer = os.pipe()
    pipe = ReportPipe(writer, NONCE)
    pipe.own()
    yield ReportReader(reader, NONCE), pipe
    for end in (reader, writer):
        os.close(end)


def test_a_report_behind_a_flood(ends: tuple[ReportReader, ReportPipe]) -> None:
    report, pipe = ends

    def flood() -> None:
        pipe.start()
        for _ in range(100):
            os.write(pipe.fd, CHUNK)
        pipe.send("report", {"message": "y" * 100_000})

    writer = threading.Thread(target=flood)
    writer.start()
    while not report.has("report"):
        report.read()
    writer.join()
    report.read()
    assert report.frames() == {"started": {}, "report": {"message": "y" * 100_000}}


def test_a_flood_without_end_is_left_alone(ends: tuple[ReportReader, ReportPipe]) -> None:
    """Reading returns although there is always more to be read."""
    report, pipe = ends
    is_over = threading.Event()

    def flood() -> None:
        while not is_over.is_set():
            os.write(pipe.fd, CHUNK)

    writer = threading.Thread(target=flood)
    writer.start()
    for _ in range(4):
        assert report.read()
    is_over.set()
    while writer.is_alive():
        report.read()
    assert report.frames() == {}


def test_a_pipe_that_does_not_block(ends: tuple[ReportReader, ReportPipe]) -> None:
    report, pipe = ends
    os.set_blocking(pipe.fd, False)
    writer = threading.Thread(target=pipe.send, args=("report", {"message": "y" * 1_000_000}))
    writer.start()
    while writer.is_alive():
        report.read()
    report.read()
    assert report.frames() == {"report": {"message": "y" * 1_000_000}}
