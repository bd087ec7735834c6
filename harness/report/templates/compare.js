// Two releases compared: the page's data holds, per check and release, a token that is equal where nothing changed.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("pair");
const [BROKEN, DIFFERENT, STILL, UNSURE, FIXED, FINE] = data.changes;

function changeBetween(before, after) {
  if (before === "unknown" || after === "unknown") return UNSURE;
  if (after === "good") return before === "good" ? FINE : FIXED;
  if (before === "good") return BROKEN;
  return before === after ? STILL : DIFFERENT;
}

function make(name, text, ...children) {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
}

function section(change, found) {
  const head = make("tr");
  for (const title of ["check", "before", "after"]) {
    const cell = make("th", title);
    cell.scope = "col";
    head.append(cell);
  }
  const lines = found.map(({ check, before, after }) => {
    const link = make("a", check.name);
    link.href = check.href;
    return make("tr", "", make("td", "", link, make("br"), make("small", check.title)), make("td", before), make("td", after));
  });
  const table = make("table", "", make("thead", "", head), make("tbody", "", ...lines));
  table.className = "plain";
  const scroll = make("div", "", table);
  scroll.className = "scroll short";
  const element = make("details", "", make("summary", `${change} (${found.length})`), scroll);
  element.className = "change";
  element.dataset.change = change;
  element.open = ![STILL, UNSURE, FINE].includes(change);
  return element;
}

function show() {
  const { a, b } = Object.fromEntries(new FormData(form));
  const [from, to] = [a, b].map((release) => data.releases.indexOf(release));
  const groups = new Map(data.changes.map((change) => [change, []]));
  for (const check of data.checks) {
    const [before, after] = [from, to].map((at) => data.texts[check.seen[at]]);
    groups.get(changeBetween(check.health[from], check.health[to])).push({ check, before, after });
  }
  const counts = [...groups].map(([change, found]) => `${found.length} ${change}`).join(", ");
  document.getElementById("shown").textContent = `torch ${a} to ${b}, ${data.checks.length} checks: ${counts}`;
  const filled = [...groups].filter(([, found]) => found.length);
  document.getElementById("changes").replaceChildren(...filled.map(([change, found]) => section(change, found)));
  history.replaceState(null, "", `?${new URLSearchParams({ a, b })}`);
}

function restore() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (["a", "b"].includes(name) && data.releases.includes(value)) form.elements.namedItem(name).value = value;
  }
  show();
}

form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("swap").addEventListener("click", () => {
  const { a, b } = form.elements;
  [a.value, b.value] = [b.value, a.value];
  show();
});
addEventListener("popstate", restore);
restore();
