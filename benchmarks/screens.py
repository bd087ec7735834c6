"""The pages of a folder in a browser: what is wider than its window, cannot be read, or leads nowhere.

python benchmarks/screens.py site                        what `pt2bugs report -o site` or `mkdocs build` wrote
python benchmarks/screens.py site --sample 25            of each folder below it so many pages, evenly spread
python benchmarks/screens.py answer --widths 360 1024    the page of `pt2bugs upgrade -o answer`

The folder is served at an address of this machine: from the file system the scripts of the documentation do not run.
Each page is opened at every width, dark and light. Its folded parts are measured unfolded, too. A text needs the
contrast of WCAG 2.2, AA: 4.5, or 3 where it is large. What is wholly transparent is not shown, and not judged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pt2bugs.report.markdown import table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from browser import chromium, open_page
from fake_torch import served
from links import dead_links

WIDTHS = (360, 768, 1400, 1920)

MEASURE = """
const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
const colours = new Map();
function rgba(text) {
  if (!colours.has(text)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    colours.set(text, [r, g, b, a / 255]);
  }
  return colours.get(text);
}
const over = ([r, g, b, a], under) => [r, g, b].map((value, n) => a * value + (1 - a) * under[n]).concat(1);
const light = (colour) => colour.slice(0, 3)
  .map((value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  .reduce((sum, value, n) => sum + value * [0.2126, 0.7152, 0.0722][n], 0);

// The colour behind an element; null where a picture lies there.
const sheet = document.documentElement.appendChild(document.createElement('i'));
sheet.style.background = 'Canvas';  // dark where the page lets the browser choose
const grounds = new Map();
function behind(element) {
  if (!element) return rgba(getComputedStyle(sheet).backgroundColor);
  if (!grounds.has(element)) {
    const style = getComputedStyle(element), colour = rgba(style.backgroundColor);
    const under = colour[3] === 1 ? colour : behind(element.parentElement);
    grounds.set(element, style.backgroundImage === 'none' && under ? over(colour, under) : null);
  }
  return grounds.get(element);
}
const alphas = new Map();
function alpha(element) {
  if (!element) return 1;
  if (!alphas.has(element)) alphas.set(element, getComputedStyle(element).opacity * alpha(element.parentElement));
  return alphas.get(element);
}
// Of a text in a drawing: the last shape before it that it stands on.
function behindDrawn(element) {
  const box = element.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
  const drawing = element.ownerSVGElement;
  let colour = behind(drawing.parentElement);
  for (const shape of drawing.querySelectorAll('rect')) {
    if (!(shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
    const at = shape.getBoundingClientRect(), style = getComputedStyle(shape);
    if (x < at.left || x > at.right || y < at.top || y > at.bottom || style.fill === 'none') continue;
    const [r, g, b, a] = rgba(style.fill);
    colour = colour && over([r, g, b, a * style.fillOpacity * style.opacity], colour);
  }
  return colour;
}

const looks = new Set();
const result = {texts: 0, unknown: 0, least: 21, low: {}, closed: [], wide: []};
function judge(element, style, text) {
  if (!alpha(element)) return;
  const drawn = element instanceof SVGElement;
  const under = drawn ? behindDrawn(element) : behind(element);
  if (!under) return void result.unknown++;
  let [r, g, b, a] = rgba(drawn ? style.fill : style.color);
  a *= alpha(element);
  const seen = [light(over([r, g, b, a], under)), light(under)].sort((one, other) => other - one);
  const contrast = (seen[0] + 0.05) / (seen[1] + 0.05), size = parseFloat(style.fontSize);
  result.texts++;
  const margin = contrast / (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5) * 4.5;
  result.least = Math.min(result.least, margin);
  if (margin < 4.495) {
    const name = `${element.tagName.toLowerCase()}.${element.getAttribute('class') || ''}`;
    result.low[`${name} ${contrast.toFixed(2)} ${text.trim().slice(0, 40)}`] = true;
  }
}
function measure() {
  if (document.documentElement.scrollWidth > room) result.wide.push(document.documentElement.scrollWidth);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest('script, style, noscript, select, :disabled')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect(), style = getComputedStyle(element);
    if (box.width > 1 && box.height > 1 && style.visibility === 'visible') judge(element, style, node.data);
  }
  for (const element of document.querySelectorAll('input, select, textarea')) {
    if (!element.offsetParent || element.disabled) continue;
    judge(element, getComputedStyle(element), element.value || element.name);
    if (element.placeholder) judge(element, getComputedStyle(element, '::placeholder'), element.placeholder);
  }
  for (const element of document.body.querySelectorAll('*')) {
    // What looks alike has the same text before and behind it.
    const look = [element, element.parentElement]
      .map((one) => [one.tagName, one.className, ...[...one.attributes].map((it) => it.name)].join(' ')).join();
    if (!looks.has(look)) for (const part of ['::before', '::after']) {
      const style = getComputedStyle(element, part), text = style.content.match(/^"(.*\\S.*)"$/);
      if (text && element.getClientRects().length) { looks.add(look); judge(element, style, text[1]); }
    }
    looks.add(look);
    const style = getComputedStyle(element);
    const scrolls = (/auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1)
      || (/auto|scroll/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 1);
    const reached = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
    if (scrolls && element.tabIndex < 0 && !element.querySelector(reached)) {
      const name = `${element.tagName.toLowerCase()}.${element.className}`;
      result.closed.push(`${name} ${element.textContent.trim().slice(0, 40)}`);
    }
  }
}
const room = arguments[0];
document.head.insertAdjacentHTML('beforeend', '<style>* {content-visibility: visible !important}</style>');
measure();
const folded = document.querySelectorAll('details:not([open])');
if (folded.length) {
  for (const one of folded) one.open = true;
  Object.assign(result, {texts: 0, unknown: 0});
  looks.clear();
  measure();
}
return result;
"""
"""Measures the page that is open, at a width in CSS pixels."""


def sampled(site: Path, pages: Sequence[Path], count: int) -> Iterator[Path]:
    """Yield so many pages of each folder, evenly spread, those of the first folder all; all if the count is 0."""
    folders: dict[Path, list[Path]] = {}
    for path in pages:
        folders.setdefault(path.parent, []).append(path)
    for folder, some in folders.items():
        step = max(1, -(-len(some) // count)) if count and folder != site else 1
        yield from some[::step]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="folder of pages")
    parser.add_argument("--sample", type=int, default=0, help="pages of each folder below it (default: all)")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS, help="in CSS pixels")
    options = parser.parse_args()
    site = options.site.resolve()
    pages = sorted(site.rglob("*.html"))
    inside, outside, dead = dead_links(site, pages)
    shown = list(sampled(site, pages, options.sample))
    faults: Counter[str] = Counter()
    texts = unknown = 0
    least = 21.0
    with (
        tempfile.TemporaryDirectory(prefix="pt2bugs-screens-") as profile,
        served(site) as address,
        chromium(Path(profile)) as browser,
    ):
        browser.set_script_timeout(600)
        for path in shown:
            name = path.relative_to(site).as_posix()
            for width in options.widths:
                for dark in (False, True):
                    page = open_page(browser, address, name, width, dark=dark)
                    seen: dict[str, Any] = page.execute_script(MEASURE, width)
                    texts, unknown = texts + seen["texts"], unknown + seen["unknown"]
                    least = min(least, seen["least"])
                    scheme = "dark" if dark else "light"
                    faults.update(f"{name} at {width}, {scheme}: is {wide} wide" for wide in seen["wide"])
                    faults.update(f"{name} at {width}, {scheme}: contrast of {low}" for low in seen["low"])
                    faults.update(f"{name} at {width}, {scheme}: no key scrolls {it}" for it in seen["closed"])
    for fault in [*faults, *(f"leads nowhere: {link}" for link in dead)]:
        print(fault, file=sys.stderr)
    rows = {
        "pages opened, of all": f"{len(shown)} of {len(pages)}",
        "widths, dark and light": ", ".join(map(str, options.widths)),
        "pages wider than their window": sum(": is " in fault for fault in faults),
        "texts measured; on a picture, so that their contrast is not known": f"{texts}; {unknown}",
        "texts below AA": sum(": contrast of " in fault for fault in faults),
        "lowest contrast, that of a large text times 1.5": f"{least:.2f}",
        "regions that scroll, and no key reaches": sum(": no key " in fault for fault in faults),
        "links into the folder; out of it": f"{inside}; {outside}",
        "links that lead nowhere": len(dead),
    }
    print(table(("what", options.site.name), rows.items()))
    return 1 if faults or dead else 0


if __name__ == "__main__":
    sys.exit(main())
