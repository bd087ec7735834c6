"""One module per command: `Options`, and `run`, callable without a command line.

`run` is the list of the command's steps: of select, plan, measure, query and render those that it has, in that order.
Every step takes the `options` of its command and what the steps before it returned; `render` returns the exit code.
"""

OK, UNEXPECTED, USAGE, NOTHING = 0, 1, 2, 3
"""Exit codes: all as expected, something is not, bad usage or input, nothing selected."""
