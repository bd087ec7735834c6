"""Descriptions of the files: a Croissant document and checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pt2bugs import __version__
from pt2bugs.dataset.schema import BUGS, CELLS, SCHEMA, SPLIT, Column

ABOUT = (
    "Documented bugs of torch.compile and the compiler below it, each as one self-contained program with an oracle, "
    "and the outcome of every program on the releases of PyTorch 2."
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataBiases": "cr:dataBiases",
    "dataCollection": "cr:dataCollection",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "personalSensitiveInformation": "cr:personalSensitiveInformation",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {"text": "sc:Text", "texts": "sc:Text", "integer": "sc:Integer", "boolean": "sc:Boolean"}
_FORMATS = {
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".parquet": "application/x-parquet",
    ".py": "text/x-python",
}
_TABLES = {
    "bugs": ("bugs.parquet", BUGS, "One row for each distinct bug."),
    "cells": ("cells.parquet", CELLS, "The newest measurement of every check, release, device and backend."),
    "split-by-root": ("splits/by-root.csv", SPLIT, "Train, validation and test by a hash of the group."),
    "split-by-day": ("splits/by-day.csv", SPLIT, "Train, validation and test by the day of the release with the fix."),
}


def croissant(files: Mapping[str, bytes]) -> bytes:
    """Return the Croissant document (1.0) of the data set.

    Args:
        files: all others, by path.
    """
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "pt2bugs",
        "description": f"{ABOUT} Schema {SCHEMA}.",
        "license": "https://spdx.org/licenses/BSD-3-Clause.html",
        "version": __version__,
        "distribution": [_file(path, data) for path, data in sorted(files.items())],
        "recordSet": [_record_set(name, path, columns, about) for name, (path, columns, about) in _TABLES.items()],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _file(path: str, data: bytes) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{len(data)} B",
        "encodingFormat": _FORMATS[path[path.rindex(".") :]],
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _record_set(name: str, path: str, columns: Sequence[Column], about: str) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": about,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column.name}",
                "name": column.name,
                "description": column.about,
                "dataType": _TYPES[column.type],
                **({"repeated": True} if column.type == "texts" else {}),
                "source": {"fileObject": {"@id": path}, "extract": {"column": column.name}},
            }
            for column in columns
        ],
    }


def checksums(files: Mapping[str, bytes]) -> bytes:
    """Return what ``sha256sum --check`` reads.

    Args:
        files: by path.
    """
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in sorted(files.items())).encode()
