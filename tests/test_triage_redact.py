"""What looks like a secret goes, and a program stays a program."""

from __future__ import annotations

import ast

import pytest
from pt2bugs.triage.redact import REDACTED, redact, redact_source, secrets_in


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "hf_AbCdEfGhIjKlMnOpQrSt",
        "AKIAABCDEFGHIJKLMNOP",
        "sk-proj-abcdefgh12345678",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        "https://hooks.slack.com/services/T0000/B0000/abcdefgh",
        "https://discord.com/api/webhooks/12345/abcdefgh-ij",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF",
    ],
)
def test_known_formats_are_redacted_wherever_they_stand(secret: str) -> None:
    assert secret not in redact(f"x {secret} y", {})


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("MY_TOKEN=abcdef123456", f"MY_TOKEN={REDACTED}"),
        ("password: 'correct horse'", f"password: '{REDACTED}'"),
        ("https://me:pass@example.org/x", f"https://me:{REDACTED}@example.org/x"),
        ("Authorization: Bearer abcdef123456789", f"Authorization: Bearer {REDACTED}"),
        ('os.environ["HUB_TOKEN"] = "open sesame"', f'os.environ["HUB_TOKEN"] = "{REDACTED}"'),
        ('os.environ.setdefault("HUB_TOKEN", "open sesame")', f'os.environ.setdefault("HUB_TOKEN", "{REDACTED}")'),
        ('api_key: str | None = "open sesame"', f'api_key: str | None = "{REDACTED}"'),
        ("password = (b'open sesame')", f"password = (b'{REDACTED}')"),
        (r'{"code": "login(token=\"open sesame\")"}', rf'{{"code": "login(token=\"{REDACTED}\")"}}'),
        ("login(token=&quot;open sesame&quot;, x)", f"login(token=&quot;{REDACTED}&quot;, x)"),
        ("AccountName=me;AccountKey=abc+/def==;Suffix=x", f"AccountName=me;AccountKey={REDACTED};Suffix=x"),
        ("Server=db;Uid=me;Pwd=hunter2;", f"Server=db;Uid=me;Pwd={REDACTED};"),
        ('names = ["token", "sentence"]', 'names = ["token", "sentence"]'),
        ("num_tokens = 5", "num_tokens = 5"),
        ("token = batch[0]", "token = batch[0]"),
        ("secret = compute()", "secret = compute()"),
    ],
)
def test_what_is_named_like_a_secret(text: str, left: str) -> None:
    assert redact(text, {}) == left


def test_variables_that_hold_a_secret() -> None:
    environ = {"SERVICE_PASSWORD": "open-sesame", "HOME": "/home/me", "COLOR": "open-door"}
    assert redact("open-sesame open-door", environ) == f"{REDACTED} open-door"


def test_a_program_stays_a_program() -> None:
    source = "api_key = 'abcdefgh12345'\ntoken = {'a': 1}\n"
    assert "abcdefgh" not in redact_source(source, environ={})
    ast.parse(redact_source(source, environ={}))


def test_code_that_looks_like_a_secret_hides_none() -> None:
    """One replacement that breaks the program is left out; the others stay."""
    source = "api_key = key_of_user1\npassword = 'open sesame'\nurl = 'https://me:open-sesame@example.org'\n"
    left = redact_source(source, environ={"SERVICE_PASSWORD": "key_of_user1"})
    assert left.splitlines() == [
        "api_key = key_of_user1",
        f"password = '{REDACTED}'",
        f"url = 'https://me:{REDACTED}@example.org'",
    ]


def test_a_long_word_takes_linear_time() -> None:
    """Tried from each of its letters on, this one would take hours."""
    word = "a" * 300_000
    assert redact(f"{word} password='open sesame'", {}) == f"{word} password='{REDACTED}'"


def test_a_secret_is_collected_by_its_value() -> None:
    source = 'password = "open sesame"\nmode = "w"\ntoken = "batch12"\nbatch12 = 1\n'
    assert secrets_in(source) == {"open sesame"}
