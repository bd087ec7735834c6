"""The innermost frame outside torch, from dumps as the interpreter writes them."""

from __future__ import annotations

import pytest
from pt2bugs.case.stack_dump import frame_outside_torch

DUMP = """\
I0000 a line of a library
Fatal Python error: Segmentation fault

Thread 0x... (most recent call first):
  File "threading.py", line 359 in wait
  File "tqdm/_monitor.py", line 60 in run

Current thread 0x... (most recent call first):
  File "torch/_ops.py", line 5 in __call__
  File "contextlib.py", line 81 in inner
  File "<frozen runpy>", line 1 in run
  File "iree/runtime/launch.py", line 290 in <lambda>
  File "torch/_dynamo/eval_frame.py", line 1552 in _fn
  File "pytorch_1.py", line 29 in test_it
  File "pt2bugs/engine/check.py", line 235 in _call

Extension modules: numpy._core (total: 26)
"""


@pytest.mark.parametrize(
    ("output", "case", "frame"),
    [
        (DUMP, "pytorch_1", "iree/runtime/launch.py:290 <lambda>"),
        (DUMP.replace("iree/", "torch/"), "pytorch_1", ""),
        (DUMP.partition("Current thread")[0], "pytorch_1", "tqdm/_monitor.py:60 run"),
        ("", "pytorch_1", ""),
        ("printed by the check", "pytorch_1", ""),
    ],
)
def test_the_thread_of_the_check_counts(output: str, case: str, frame: str) -> None:
    assert frame_outside_torch(output, case) == frame
