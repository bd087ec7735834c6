"""The pages in a real browser, opened from the file system: Debian's Chromium, driven by Selenium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.bisect.compare import Change
from pt2bugs.cli import main
from seeded import write_case, write_journal
from test_report import HOSTILE, RELEASES, places, write_project

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no chromium and chromedriver here: apt-get install chromium chromium-driver"
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
ALL = {f"pytorch_{number}" for number in (1, 2, 3, 4, 5)} | {"hostile"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    path = write_case(
        folder, "pytorch_5", title="Convolution", component="inductor", symptom="memory", labels=["conv"], bugs=[],
        devices=["cuda"], backends=["eager"],
    )  # fmt: skip
    write_journal(folder, path, {"2.13.0": "."})
    journal = folder / "results" / "journal" / "pytorch_5.jsonl"
    record = {**json.loads(journal.read_text()), "device": "cuda", "backend": "eager"}
    journal.write_text(json.dumps(record) + "\n")
    assert main(["report", "-o", str(folder / "site"), *places(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1400,1000"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


Open = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, project: Path) -> Iterator[Open]:
    """Opens a page of the site at a width in CSS pixels; afterwards the console must be empty."""

    def run(page: str, width: int = 1400, *, dark: bool = False) -> Any:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        browser.get(f"{(project / 'site').as_uri()}/{page}")
        # Rows with `content-visibility` have no contents, to assistive technology either, before the first frame.
        browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
        )
        return browser

    yield run
    assert browser.get_log("browser") == []


def js(browser: Any, expression: str) -> Any:
    return browser.execute_script(f"return {expression}")


def shown(browser: Any) -> set[str]:
    """The cases of the rows that can be seen."""
    labels = js(browser, "[...document.querySelectorAll('#matrix [data-anchor] small')]"
                         ".filter((one) => one.offsetParent).map((one) => one.textContent)")  # fmt: skip
    return {label.split("::")[0] for label in labels}


def choose(browser: Any, name: str, value: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    Select(browser.find_element(By.NAME, name)).select_by_visible_text(value)


def type_text(browser: Any, text: str) -> None:
    from selenium.webdriver.common.by import By

    browser.find_element(By.NAME, "q").send_keys(text)


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def click(browser: Any, selector: str) -> None:
    from selenium.webdriver.common.by import By

    browser.find_element(By.CSS_SELECTOR, selector).click()


def arrive(browser: Any, end: str) -> None:
    """Wait until the browser has opened a page whose address ends so."""
    from selenium.webdriver.support.ui import WebDriverWait

    there = f"return location.pathname.endsWith('{end}') && document.readyState === 'complete'"
    WebDriverWait(browser, 30).until(lambda one: one.execute_script(there))


def cell(case: str, release: str) -> str:
    """The selector of a cell of the matrix."""
    row = f'#matrix tr:has(a[href="case/{case}.html"])'
    return f"{row} td:nth-child({len(RELEASES) - RELEASES.index(release) + 1})"


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("component", "inductor", {"hostile", "pytorch_5"}),
        ("symptom", "memory", {"pytorch_5"}),
        ("device", "cpu", ALL - {"pytorch_5"}),
        ("backend", "eager", {"pytorch_5"}),
        ("verdict", "xpass", {"pytorch_2", "pytorch_4"}),
        ("verdict", "flaky", {"pytorch_3"}),
        ("verdict", "not run", {"hostile", "pytorch_5"}),
        ("torch", "2.13.0", ALL),
        ("torch", "2.2.2", ALL - {"hostile", "pytorch_5"}),
    ],
)
def test_a_filter(visit: Open, name: str, value: str, left: set[str]) -> None:
    browser = visit("index.html")
    assert shown(browser) == ALL
    choose(browser, name, value)
    assert shown(browser) == left
    word = "none" if value == "not run" else value
    assert js(browser, "location.search") == f"?{name}={word}"
    browser.refresh()
    assert shown(browser) == left
    click(browser, "#filters button")
    browser.execute_async_script("setTimeout(arguments[0])")
    assert shown(browser) == ALL
    assert js(browser, "location.search") == ""


@pytest.mark.parametrize(
    ("text", "left"),
    [("PYTORCH_3", {"pytorch_3"}), ("bug pytorch", ALL - {"hostile", "pytorch_5"}), ("conv", {"pytorch_5"}),
     ("window.pwned", {"hostile"}), ("died by sigsegv", {"pytorch_2", "pytorch_4"}), ("nothing", set())],
)  # fmt: skip
def test_the_text_filter(visit: Open, text: str, left: set[str]) -> None:
    browser = visit("index.html")
    type_text(browser, text)
    assert shown(browser) == left
    browser.refresh()
    assert shown(browser) == left
    assert js(browser, "document.getElementsByName('q')[0].value") == text


def test_filters_together(visit: Open) -> None:
    browser = visit("index.html?verdict=fail&torch=2.10.0&component=dynamo")
    assert shown(browser) == {"pytorch_2", "pytorch_3", "pytorch_4"}
    type_text(browser, "_2")
    assert shown(browser) == {"pytorch_2"}
    heads = js(browser, "[...document.querySelectorAll('#matrix tbody .group')].filter((one) => one.offsetParent)"
                        ".map((one) => one.textContent)")  # fmt: skip
    assert heads == ["dynamo"]


def test_words_that_the_address_has_and_the_matrix_has_not(visit: Open) -> None:
    browser = visit("index.html?verdict=sideways&colour=red&submit=1#matrix-head")
    assert shown(browser) == ALL
    assert js(browser, "location.search + location.hash") == "#matrix-head"


def test_counts_follow_the_filters(visit: Open) -> None:
    browser = visit("index.html?component=dynamo")
    counts = js(
        browser,
        "Object.fromEntries([...document.querySelectorAll('[data-count]')].map((row) => "
        "[row.dataset.count, [...row.cells].slice(1).map((one) => Number(one.textContent))]))",
    )
    total = counts.pop("all")
    assert total == [4, 4, 4, 4]
    assert [sum(column) for column in zip(*counts.values(), strict=True)] == total
    assert js(browser, "document.getElementById('shown').textContent").startswith("4 of 6 checks, 16 cells: ")


def test_a_cell_opens_its_failure_and_back_keeps_the_filter(visit: Open) -> None:
    browser = visit("index.html?component=dynamo")
    click(browser, cell("pytorch_2", "2.10.0"))
    arrive(browser, "/case/pytorch_2.html")
    opened = js(browser, "[...document.querySelectorAll('details.cell[open]')].map((one) => one.innerText)")
    assert len(opened) == 1
    assert "died by SIGSEGV" in opened[0]
    assert "pt2bugs run pytorch_2 --torch 2.10.0" in opened[0]
    browser.back()
    arrive(browser, "/index.html")
    assert shown(browser) == {"pytorch_1", "pytorch_2", "pytorch_3", "pytorch_4"}


def test_a_cell_that_was_not_run_opens_nothing(visit: Open) -> None:
    browser = visit("index.html")
    click(browser, cell("pytorch_5", "2.2.2"))
    assert js(browser, "location.pathname").endswith("/index.html")


def test_the_strip_of_a_case_page_opens_cells(visit: Open) -> None:
    browser = visit("case/pytorch_1.html")
    for release in ("2.2.2", "2.9.1"):
        click(browser, f'.matrix a[href$="-{release}"]')
        assert js(browser, "document.querySelectorAll('details.cell.named[open]').length") == 1
        assert js(browser, "document.querySelector('details.cell.named .anchor').id").endswith(release)


def test_by_keyboard(visit: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = visit("index.html")
    press(browser, Keys.TAB)
    assert js(browser, "document.activeElement.textContent") == "Skip to the content"
    focused = "document.activeElement.closest('td') !== null"
    for _ in range(40):
        press(browser, Keys.TAB)
        if js(browser, focused):
            break
    assert js(browser, focused)
    assert js(browser, "document.querySelectorAll('#matrix td[tabindex]').length") == 1
    press(browser, Keys.ARROW_DOWN, Keys.HOME, Keys.ARROW_RIGHT)
    assert js(browser, "document.getElementById('where').textContent") == (
        "pytorch_2::test_it[cpu-inductor] on torch 2.10.0: fail"
    )
    press(browser, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP, Keys.END, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    where = js(browser, "document.getElementById('where').textContent")
    assert where == "pytorch_1::test_it[cpu-inductor] on torch 2.9.1: xfail wrong", "the border holds"
    press(browser, Keys.ENTER)
    arrive(browser, "/case/pytorch_1.html")
    assert js(browser, "document.querySelector('details.cell[open] .anchor').id") == "test_it-cpu-inductor-2.9.1"


def test_the_matrix_is_a_grid_to_assistive_technology(visit: Open) -> None:
    browser = visit("index.html#matrix-head")
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    found = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    roles = [role for role, _ in found]
    assert ("grid", "The matrix") in found
    assert roles.count("columnheader") == 1 + len(RELEASES)
    cells = [name for role, name in found if role == "gridcell"]
    assert {"pass", "xfail wrong", "not run"} <= set(cells)
    assert "" not in [name for role, name in found if role in ("textbox", "searchbox", "combobox", "button", "link")]


def test_keys_pass_over_rows_that_are_filtered_out(visit: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = visit("index.html?verdict=flaky")
    browser.execute_script("document.querySelector('#matrix td[tabindex]').focus()")
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    where = js(browser, "document.getElementById('where').textContent")
    assert where == "pytorch_3::test_it[cpu-inductor] on torch 2.9.1: flaky"


@pytest.mark.parametrize("page", ["index.html?q=window#matrix-head", "case/hostile.html", "compare.html"])
def test_hostile_text_shows_as_text(visit: Open, page: str) -> None:
    browser = visit(page)
    assert js(browser, "typeof window.pwned") == "undefined"
    browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert HOSTILE in js(browser, "document.body.innerText")
    assert js(browser, "document.images.length") == 0


def test_two_releases_are_compared_as_compare_does(
    visit: Open, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = visit("compare.html")
    assert js(browser, "location.search") == "?a=2.10.0&b=2.13.0", "the newest step to begin with"
    for before, after in permutations(RELEASES, 2):
        main(["compare", before, after, "--offline", "--json", *places(project)])
        expected = {
            f"{one['case']}::{one['check']}[{one['device']}-{one['backend']}]": one["change"]
            for one in json.loads(capsys.readouterr().out)
            if one["case"] in ALL and one["device"] == "cpu"
        }
        visit(f"compare.html?a={before}&b={after}")
        found = js(
            browser,
            "[...document.querySelectorAll('[data-change] tbody tr')].map((row) => "
            "[row.querySelector('small').textContent, row.closest('[data-change]').dataset.change])",
        )
        assert len(found) == 6
        assert {name: change for name, change in found if "[cpu-" in name} == expected
        summary = js(browser, "document.getElementById('shown').textContent")
        counts = [sum(change == str(one) for _, change in found) for one in Change]
        assert summary.endswith(", ".join(f"{n} {one}" for n, one in zip(counts, Change, strict=True)))


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


def test_heads_stay_in_sight(visit: Open, project: Path) -> None:
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


def test_a_cell_costs_one_element_and_no_listener(visit: Open) -> None:
    browser = visit("index.html")
    assert js(browser, "document.querySelectorAll('#matrix tbody td *').length") == 0
    cells = js(browser, "document.querySelectorAll('#matrix tbody td').length")
    assert cells == 6 * len(RELEASES)


def test_nothing_matches_says_what_to_clear(visit: Open) -> None:
    browser = visit("index.html?component=inductor")
    assert js(browser, "document.getElementById('nothing').offsetParent") is None
    type_text(browser, "sideways")
    assert js(browser, "document.getElementById('nothing').innerText").startswith(
        "Nothing matches text “sideways”, component “inductor”. "
    )
    click(browser, "#clear")
    browser.execute_async_script("setTimeout(arguments[0])")
    assert shown(browser) == ALL
    assert js(browser, "document.getElementById('nothing').offsetParent") is None


def test_filters_are_folded_on_a_phone(visit: Open) -> None:
    browser = visit("index.html", 390)
    assert js(browser, "document.getElementsByName('component')[0].checkVisibility()") is False
    click(browser, "#filters summary")
    choose(browser, "component", "inductor")
    assert shown(browser) == {"hostile", "pytorch_5"}
    browser.refresh()
    assert js(browser, "document.getElementsByName('component')[0].checkVisibility()") is True, "open where one is set"
    visit("index.html", 1400)
    assert js(browser, "document.getElementsByName('component')[0].checkVisibility()") is True


def test_the_newest_release_is_in_sight_on_a_phone(visit: Open) -> None:
    browser = visit("index.html", 390)
    box = js(browser, "document.querySelector('#matrix thead .newest').getBoundingClientRect().right")
    assert box <= 390
    assert js(browser, "document.querySelector('#matrix thead .newest').textContent") == RELEASES[-1]


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
