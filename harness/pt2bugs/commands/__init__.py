"""One module per command: `Options` and `run`, callable without a command line."""

OK, UNEXPECTED, USAGE, NOTHING = 0, 1, 2, 3
"""Exit codes: all as expected, something is not, bad usage or input, nothing selected."""
