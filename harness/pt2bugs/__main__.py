"""The start of the `pt2bugs` command: Ctrl-C ends it in one line while its modules are still imported, too."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command of this process's arguments and return its exit code."""
    try:
        from pt2bugs.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("pt2bugs: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
