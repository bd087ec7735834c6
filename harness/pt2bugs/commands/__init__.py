"""One module per command: `add_arguments` and `run`, callable without a command line."""

OK, UNEXPECTED, USAGE, NOTHING = 0, 1, 2, 3
"""Exit codes: all as expected, something is not, bad usage or input, nothing selected."""
