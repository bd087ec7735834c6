"""What the commands print: data on stdout, talk on stderr."""

from __future__ import annotations

import json
import sys
from typing import Any


def say(text: str) -> None:
    """Talk to the user, on stderr."""
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    say(f"pt2bugs: warning: {text}")


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    print()
