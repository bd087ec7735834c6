"""Build hook: the wheel carries the corpus and its results; an editable install reads those of the checkout."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CorpusHook(BuildHookInterface):
    """`list`, `matrix`, `compare --offline` and `match` answer from these wherever the wheel is installed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"] |= {
                "cases": "pt2bugs/_corpus/cases",
                "results": "pt2bugs/_corpus/results",
                "CITATION.cff": "pt2bugs/_corpus/CITATION.cff",
                "docs/evaluation/datasheet.md": "pt2bugs/_corpus/docs/evaluation/datasheet.md",
            }
