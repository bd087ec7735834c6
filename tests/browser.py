"""A real browser on the pages of a project, opened from the file system: Debian's Chromium, driven by Selenium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.cli import main
from report_project import RELEASES, folder_options, write_project
from seeded import write_case, write_journal

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
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


Open = Callable[..., Any]


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


def reload(browser: Any) -> None:
    """Load the page again, at the address that its scripts have given it.

    They give it to the renderer. The process that loads pages hears of it a moment later, and goes by its own history.
    """
    from selenium.webdriver.support.ui import WebDriverWait

    def knows(driver: Any, address: str) -> bool:
        history = driver.execute_cdp_cmd("Page.getNavigationHistory", {})
        return bool(history["entries"][history["currentIndex"]]["url"] == address)

    address = js(browser, "location.href")
    WebDriverWait(browser, 30).until(lambda driver: knows(driver, address))
    browser.refresh()


def arrive(browser: Any, end: str) -> None:
    """Wait until the browser has opened a page whose address ends so."""
    from selenium.webdriver.support.ui import WebDriverWait

    there = f"return location.pathname.endsWith('{end}') && document.readyState === 'complete'"
    WebDriverWait(browser, 30).until(lambda driver: driver.execute_script(there))


def cell(case: str, release: str) -> str:
    """The selector of a cell of the matrix."""
    row = f'#matrix tr:has(a[href="case/{case}.html"])'
    return f"{row} td:nth-child({len(RELEASES) - RELEASES.index(release) + 1})"


def write_browsed(folder: Path) -> Path:
    """The project and its site, with a case for a device that most have no results of."""
    write_project(folder)
    path = write_case(
        folder, "pytorch_5", title="Convolution", component="inductor", symptom="memory", labels=["conv"], bugs=[],
        devices=["cuda"], backends=["eager"],
    )  # fmt: skip
    write_journal(folder, path, {"2.13.0": "."})
    journal = folder / "results" / "journal" / "pytorch_5.jsonl"
    record = {**json.loads(journal.read_text()), "device": "cuda", "backend": "eager"}
    journal.write_text(json.dumps(record) + "\n")
    assert main(["report", "-o", str(folder / "site"), *folder_options(folder)]) == 0
    return folder


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size=1400,1000"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def open_page(browser: Any, site: Path | str, page: str, width: int = 1400, *, dark: bool = False) -> Any:
    """Open a page of the site, a folder or an address, at a width in CSS pixels."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get(f"{site.as_uri() if isinstance(site, Path) else site}/{page}")
    # Rows with `content-visibility` have no contents, to assistive technology either, before the first frame.
    browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")
    return browser
