"""The pages in a real browser: hostile text, two releases compared, every width, dark and light."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from browser import ALL, Open, arrive, choose, click, js, needs_browser
from pt2bugs.bisect.compare import Change
from pt2bugs.cli import main
from report_project import HOSTILE, RELEASES, folder_options

pytestmark = needs_browser


@pytest.mark.parametrize("page", ["index.html?q=window#matrix-head", "case/hostile.html", "compare.html"])
def test_hostile_text_shows_as_text(visit: Open, page: str) -> None:
    browser = visit(page)
    assert js(browser, "typeof window.pwned") == "undefined"
    browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert HOSTILE in js(browser, "document.body.innerText")
    assert js(browser, "document.images.length") == 0


def test_two_releases_are_compared_as_compare_does(
    visit: Open, browsed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = visit("compare.html")
    assert js(browser, "location.search") == "?a=2.10.0&b=2.13.0", "the newest step to begin with"
    for before, after in permutations(RELEASES, 2):
        main(["compare", before, after, "--offline", "--json", *folder_options(browsed)])
        expected = {
            f"{told['case']}::{told['check']}[{told['device']}-{told['backend']}]": told["change"]
            for told in json.loads(capsys.readouterr().out)["changes"]
            if told["case"] in ALL and told["device"] == "cpu"
        }
        visit(f"compare.html?a={before}&b={after}")
        shown = js(
            browser,
            "[...document.querySelectorAll('[data-change] tbody tr')].map((row) => "
            "[row.querySelector('small').textContent, row.closest('[data-change]').dataset.change])",
        )
        assert len(shown) == 6
        assert {name: change for name, change in shown if "[cpu-" in name} == expected
        summary = js(browser, "document.getElementById('shown').textContent")
        counts = [sum(change == str(told) for _, change in shown) for told in Change]
        assert summary.endswith(": " + ", ".join(f"{n} {told}" for n, told in zip(counts, Change, strict=True) if n))


def test_choosing_releases_to_compare(visit: Open) -> None:
    browser = visit("compare.html?a=9.9&b=2.9.1")
    assert js(browser, "location.search") == "?a=2.10.0&b=2.9.1"
    choose(browser, "a", "2.2.2")
    assert js(browser, "location.search") == "?a=2.2.2&b=2.9.1"
    click(browser, "#swap")
    assert js(browser, "location.search") == "?a=2.9.1&b=2.2.2"
    click(browser, "#changes [data-change=broken] a")
    arrive(browser, "/case/pytorch_2.html")


PAGES = (
    "index.html",
    "compare.html",
    "trends.html",
    "data.html",
    "backends.html",
    "backend/mine.html",
    "component/dynamo.html",
    "case/pytorch_2.html",
    "case/hostile.html",
)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [320, 390, 800, 1400, 1920])
def test_no_page_is_wider_than_the_screen(visit: Open, page: str, width: int) -> None:
    browser = visit(page, width)
    assert js(browser, "document.documentElement.scrollWidth") <= width
    small = js(browser, "[...document.querySelectorAll('input, select, button')].filter((one) => one.offsetParent)"
                        ".filter((one) => one.getBoundingClientRect().right > innerWidth).length")  # fmt: skip
    assert small == 0


def test_heads_stay_in_sight(visit: Open, browsed: Path) -> None:
    """Both ways, also at phone width."""
    for width in (390, 1400):
        browser = visit("index.html", width)
        browser.execute_script(
            "document.querySelector('.scroll').style.cssText = 'width: 250px; height: 180px; max-height: none';"
            "document.querySelector('.scroll').scrollTo(60, 120)"
        )
        box = "document.querySelector('.scroll').getBoundingClientRect()"
        assert js(browser, "document.querySelector('.scroll').scrollTop") > 0
        assert (
            js(browser, f"document.querySelector('thead th:last-child').getBoundingClientRect().top - {box}.top") <= 2
        )
        assert js(browser, f"document.querySelector('[data-anchor] th').getBoundingClientRect().left - {box}.left") == 1


def test_dark_and_light(visit: Open) -> None:
    def colours(dark: bool) -> tuple[str, str]:
        browser = visit("index.html", dark=dark)
        style = "getComputedStyle(document.querySelector('#matrix td.xfail')).backgroundColor"
        return js(browser, "getComputedStyle(document.body).backgroundColor"), js(browser, style)

    assert colours(dark=False) == ("rgb(255, 255, 255)", "rgb(246, 201, 196)")
    assert colours(dark=True) == ("rgb(15, 19, 24)", "rgb(95, 29, 29)")


def test_a_copy_button_copies_what_stands_beside_it(visit: Open) -> None:
    browser = visit("case/pytorch_2.html")
    browser.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    click(browser, ".listing .copy")
    text = js(browser, "window.copied")
    assert text.startswith("# /// script")
    assert "def test_it(backend):" in text


def test_words_are_not_broken_in_the_middle(visit: Open) -> None:
    """A word stands on two lines only where it is wider than its column."""
    browser = visit("compare.html?a=2.2.2&b=2.9.1", 800)
    broken = js(
        browser,
        """(() => {
          const found = [];
          for (const cell of document.querySelectorAll('.pairs td')) {
            const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) for (const word of walker.currentNode.data.matchAll(/[a-z]{2,12}/gi)) {
              const range = document.createRange();
              range.setStart(walker.currentNode, word.index);
              range.setEnd(walker.currentNode, word.index + word[0].length);
              if (range.getClientRects().length > 1) found.push(word[0]);
            }
          }
          return found;
        })()""",
    )
    assert broken == []
