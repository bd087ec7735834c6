"""Everything that the command line explains in one sentence instead of a traceback."""

from __future__ import annotations


class Pt2bugsError(Exception):
    """Root of all errors that tell the user what is wrong, where, and what to do.

    The command line catches this class alone: anything else is a bug of pt2bugs and shows its traceback.
    """


class InputError(Pt2bugsError):
    """Bad usage or input: a file, an argument, a setting. Exit code 2."""


class NothingSelected(Pt2bugsError):
    """The selection is empty; the message says which filter emptied it. Exit code 3."""
