// Two releases compared. What counts as a change is decided where the page's data is made, not here.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("pair");

function make(name, text, ...children) {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
}

// Names and paths break behind their parts, and not within a word.
function breakable(text) {
  const parts = text.split(/(?<=_|::|\/|\.(?=\w))/);
  return parts.flatMap((part, at) => (at ? [document.createElement("wbr"), part] : [part]));
}

function section(change, checks) {
  const head = make("tr");
  for (const title of ["check", "before", "after"]) {
    const cell = make("th", title);
    cell.scope = "col";
    head.append(cell);
  }
  const columns = make("colgroup", "", make("col"), make("col"), make("col"));
  const lines = checks.map(({ check, before, after }) => {
    const link = make("a", check.title);
    link.href = check.href;
    const cells = [make("td", "", link, make("small", "", ...breakable(check.name))), make("td", "", ...breakable(before)),
      make("td", "", ...breakable(after))];
    cells[1].dataset.name = "before";
    cells[2].dataset.name = "after";
    return make("tr", "", ...cells);
  });
  const table = make("table", "", columns, make("thead", "", head), make("tbody", "", ...lines));
  table.className = "plain pairs";
  const scroll = make("div", "", table);
  scroll.className = "scroll short";
  scroll.tabIndex = 0;
  const element = make("details", "", make("summary", `${change} (${checks.length})`), scroll);
  element.className = `change is-${change.replaceAll(" ", "-")}`;
  element.dataset.change = change;
  element.open = !data.quiet.includes(change);
  return element;
}

function show() {
  const { a, b } = Object.fromEntries(new FormData(form));
  const [from, to] = [a, b].map((release) => data.releases.indexOf(release));
  const groups = new Map(data.names.map((change) => [change, []]));
  for (const check of data.checks) {
    const [before, after] = [from, to].map((at) => data.texts[check.seen[at]]);
    groups.get(data.names[check.changes[check.kinds[from]][check.kinds[to]]]).push({ check, before, after });
  }
  const filled = [...groups].filter(([, checks]) => checks.length);
  const counts = filled.map(([change, checks]) => `${checks.length} ${change}`).join(", ");
  document.getElementById("shown").textContent = `torch ${a} to ${b}, ${data.checks.length} checks: ${counts}`;
  document.getElementById("changes").replaceChildren(...filled.map(([change, checks]) => section(change, checks)));
  document.querySelector("#again code").textContent = `pt2bugs compare ${a} ${b} --offline`;
  history.replaceState(null, "", `?${new URLSearchParams({ a, b })}`);
}

function restore() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (["a", "b"].includes(name) && data.releases.includes(value)) form.elements.namedItem(name).value = value;
  }
  show();
}

form.addEventListener("change", show);
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("swap").addEventListener("click", () => {
  const { a, b } = form.elements;
  [a.value, b.value] = [b.value, a.value];
  show();
});
addEventListener("popstate", restore);
restore();
