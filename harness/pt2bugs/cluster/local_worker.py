"""Loaded by the workers of ``--cluster local:N`` as they start."""

from __future__ import annotations

import contextlib
import os


def dask_setup(_: object) -> None:
    """Put the worker into a session of its own: Ctrl-C is for the driver to hear, which then ends the workers."""
    with contextlib.suppress(OSError):  # it leads one already
        os.setsid()
