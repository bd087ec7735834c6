"""Take out of a text what looks like a secret, before it is written anywhere."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Mapping, Set

from pt2bugs.engine.environment import is_credential

REDACTED = "<redacted>"
_MIN_LENGTH = 6
_FORMATS = re.compile(
    r"""(?x)
    \b(?:gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,} | glpat-[\w-]{16,} | hf_[A-Za-z0-9]{16,}
       | sk-[\w-]{16,} | xox[abprs]-[\w-]{10,} | (?:AKIA|ASIA)[A-Z0-9]{16} | AIza[\w-]{30,}
       | (?<!-)eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+ | pypi-[\w-]{20,} | npm_[A-Za-z0-9]{20,})
    | https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks
       |[\w.-]+\.webhook\.office\.com)/[\w/@.-]+
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    """,
    re.DOTALL,
)
_CONNECTION = re.compile(r"\b((?:Account|SharedAccess)Key|SharedAccessSignature|Pwd)=[^;\s'\"]{4,}")
"""A part of a connection string."""
_IN_URL = re.compile(r"(://[^/\s:@]*):[^/\s@]+@")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/_.=~-]{12,}")
_QUOTE = r"""(?:\\*['"]|&(?:quot|\#x27|\#39|\#34);)"""
"""A quotation mark, as it stands in a program, in a string of JSON, and in HTML."""
_NAMED = re.compile(
    rf"""(?ix)
    (?<![\w-])(?P<name>[\w-]*(?:token|secret|password|passwd|passphrase|credential|api_?key|access_?key|private_?key
      |authorization|cookie))
    (?P<between>{_QUOTE}?\]?\s*(?::\s*[\w.]+(?:\s*\|\s*[\w.]+)*\s*(?==))?[=:]\s*\(?\s*|{_QUOTE}\s*,\s*)
    (?P<prefix>(?:[rbfu]{{1,2}}(?={_QUOTE}))?)
    (?:(?P<quote>{_QUOTE})(?P<quoted>(?:(?!(?P=quote))[^\n]){{6,}})(?P=quote) | (?P<bare>[^\s'",;()\[\]{{}}]{{8,}}))
    """
)
"""A name and its value: assigned (annotated or not), an item, a keyword, or behind a comma where a variable is set."""


def redact(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return a text without secrets: values of variables and names like ``TOKEN``, well-known formats.

    Args:
        text: any.
        environ: the variables.
    """
    text = _without_values(text, environ)
    for pattern, by in _REPLACEMENTS:
        text = pattern.sub(by, text)
    return text


def secrets_in(source: str) -> frozenset[str]:
    """Return the values in a program that look like secrets, so that they are removed wherever they turn up later.

    An exception may quote a value without the name that gives it away.

    Args:
        source: The text of the program.
    """
    values = {match[0] for match in _FORMATS.finditer(source)}
    values |= {match[0].partition("=")[2] for match in _CONNECTION.finditer(source)}
    for match in _NAMED.finditer(source):
        if _named(match) != match[0]:
            values.add(match["quoted"] or match["bare"])
    # A value that is a word of the program elsewhere would take that away, too.
    return frozenset(
        value
        for value in values
        if len(value) >= _MIN_LENGTH and not (value.isidentifier() and source.count(value) > 1)
    )


def _without_values(text: str, environ: Mapping[str, str]) -> str:
    """Return a text without the values of variables that are named like a secret."""
    for name, value in environ.items():
        if len(value) >= _MIN_LENGTH and value in text and is_credential(name, value) and not value.startswith("/"):
            text = text.replace(value, REDACTED)
    return text


def _named(match: re.Match[str]) -> str:
    quote, inner = match["quote"] or "", match["quoted"] or match["bare"]
    if REDACTED in inner or ("," in match["between"] and not re.search(r"[A-Z]_[A-Z]+$", match["name"])):
        return match[0]
    # A bare word behind `token:` is more often code than a secret; one with digits and letters, or behind an
    # environment variable's name, is one.
    mixed = bool(re.search(r"\d", inner)) and bool(re.search(r"[A-Za-z]", inner)) and not re.search(r"[.(\[]", inner)
    if quote or mixed or (match["name"].isupper() and match["between"] == "="):
        return f"{match['name']}{match['between']}{match['prefix']}{quote}{REDACTED}{quote}"
    return match[0]


_REPLACEMENTS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (_FORMATS, REDACTED),
    (_CONNECTION, rf"\1={REDACTED}"),
    (_IN_URL, rf"\1:{REDACTED}@"),
    (_BEARER, rf"\1 {REDACTED}"),
    (_NAMED, _named),
)


def redact_source(source: str, values: Set[str] = frozenset(), environ: Mapping[str, str] = os.environ) -> str:
    """Return a program without secrets; a replacement after which it does not parse is left out.

    Args:
        source: of the program.
        values: secrets of the program that it was made of: the line that names one may be gone.
        environ: the variables.
    """
    text = source
    for value in sorted(secrets_in(source) | values, key=len, reverse=True):
        # The value may be quoted again in a message of the program.
        replaced = text.replace(value, REDACTED)
        text = replaced if _parses(replaced) or not _parses(text) else text
    source, text = text, redact(text, environ)
    if _parses(text) or not _parses(source):
        return text
    text = plain if _parses(plain := _without_values(source, environ)) else source
    for pattern, by in _REPLACEMENTS:
        for match in reversed(list(pattern.finditer(text))):
            new = (
                f"{text[: match.start()]}{match.expand(by) if isinstance(by, str) else by(match)}{text[match.end() :]}"
            )
            text = new if _parses(new) else text
    return text


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
