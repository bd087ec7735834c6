"""One module per command: `add_arguments` and `run`, callable without a command line."""

OK, UNEXPECTED, USAGE, NOTHING = 0, 1, 2, 3
"""Exit codes: all as expected, something is not, bad usage or input, nothing selected."""


class UsageError(Exception):
    """Bad usage or input; the message is one line that says what, where and what to do."""


class NothingSelected(Exception):
    """The selection is empty; the message says which filter emptied it."""
