"""The matrix in a real browser: filters, keys, cells that open their failures, also on a phone."""

from __future__ import annotations

import pytest
from browser import ALL, Open, arrive, cell, choose, click, js, needs_browser, press, reload, shown, type_text
from report_project import RELEASES

pytestmark = needs_browser


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
    reload(browser)
    assert shown(browser) == left
    click(browser, "#filters button")
    browser.execute_async_script("setTimeout(arguments[0])")
    assert shown(browser) == ALL
    assert js(browser, "location.search") == ""


@pytest.mark.parametrize(
    ("text", "left"),
    [("PYTORCH_3", {"pytorch_3"}), ("bug pytorch", ALL - {"hostile", "pytorch_5"}), ("conv", {"pytorch_5"}),
     ("window.pwned", {"hostile"}), ("died by sigsegv", {"pytorch_2", "pytorch_4"}), ("#3", {"pytorch_3"}),
     ("nothing", set())],
)  # fmt: skip
def test_the_text_filter(visit: Open, text: str, left: set[str]) -> None:
    browser = visit("index.html")
    type_text(browser, text)
    assert shown(browser) == left
    reload(browser)
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
    assert js(browser, "document.getElementById('shown').textContent").startswith("4 of 6 rows, 16 cells: ")
    type_text(browser, "_2")
    seen = js(browser, "[...document.querySelectorAll('[data-count]')].filter((row) => row.offsetParent)"
                       ".map((row) => row.dataset.count)")  # fmt: skip
    assert {"all"} < set(seen) < {"all", *counts}, "a verdict that no row has is not counted"


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
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    roles = [role for role, _ in named]
    assert ("grid", "The matrix") in named
    assert roles.count("columnheader") == 1 + len(RELEASES)
    cells = [name for role, name in named if role == "gridcell"]
    assert {"pass", "xfail wrong", "not run"} <= set(cells)
    assert "" not in [name for role, name in named if role in ("textbox", "searchbox", "combobox", "button", "link")]


def test_keys_pass_over_rows_that_are_filtered_out(visit: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = visit("index.html?verdict=flaky")
    browser.execute_script("document.querySelector('#matrix td[tabindex]').focus()")
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    where = js(browser, "document.getElementById('where').textContent")
    assert where == "pytorch_3::test_it[cpu-inductor] on torch 2.9.1: flaky"


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
    reload(browser)
    assert js(browser, "document.getElementsByName('component')[0].checkVisibility()") is True, "open where one is set"
    visit("index.html", 1400)
    assert js(browser, "document.getElementsByName('component')[0].checkVisibility()") is True


def test_the_newest_release_is_in_sight_on_a_phone(visit: Open) -> None:
    browser = visit("index.html", 390)
    box = js(browser, "document.querySelector('#matrix thead .newest').getBoundingClientRect().right")
    assert box <= 390
    assert js(browser, "document.querySelector('#matrix thead .newest').textContent") == RELEASES[-1]


@pytest.mark.parametrize("width", [390, 768, 1024, 1400])
def test_the_matrix_begins_within_the_first_screen(visit: Open, width: int) -> None:
    browser = visit("index.html", width)
    assert js(browser, "document.querySelector('#matrix tbody').getBoundingClientRect().top") < 900


def test_the_matrix_begins_within_the_first_screen_of_a_phone(visit: Open) -> None:
    browser = visit("index.html", 360)
    assert js(browser, "document.querySelector('#matrix').getBoundingClientRect().top") < 740


@pytest.mark.parametrize("width", [1400, 1920])
def test_the_releases_of_years_fit_a_wide_screen(visit: Open, width: int) -> None:
    browser = visit("index.html", width)
    js(browser, "document.querySelector('#matrix').style.setProperty('--releases', 28)")
    assert js(browser, "document.querySelector('#matrix').offsetWidth <= "
                       "document.querySelector('#matrix').closest('section').clientWidth")  # fmt: skip
