// The matrix: filters whose state is in the address, and cells that keys and clicks open.
"use strict";

const table = document.getElementById("matrix");
const form = document.getElementById("filters");
const where = document.getElementById("where");
const releases = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent);

const failures = JSON.parse(document.getElementById("texts").textContent);

const rows = [...table.querySelectorAll("tbody tr[data-anchor]")].map((element, at) => {
  const [head, ...cells] = element.cells;
  const words = `${head.textContent} ${element.dataset.words} ${element.dataset.component}`.toLowerCase();
  return {
    element,
    facts: element.dataset,
    text: `${words} ${failures[at]}`,
    verdicts: cells.map((cell) => cell.className),
  };
});

// --- filters -------------------------------------------------------------------------------------------

function matches(row, wanted) {
  const verdicts = wanted.torch ? [row.verdicts[releases.indexOf(wanted.torch)]] : row.verdicts;
  return (
    // An issue is written #163640, and the id of its case has its number.
    wanted.q.toLowerCase().split(/\s+/).every((word) => row.text.includes(word.replace(/^#(?=\d)/, ""))) &&
    ["component", "symptom", "device", "backend"].every((name) => !wanted[name] || row.facts[name] === wanted[name]) &&
    (wanted.verdict ? verdicts.includes(wanted.verdict) : !wanted.torch || verdicts[0] !== "none")
  );
}

function apply() {
  const wanted = Object.fromEntries(new FormData(form));
  const shown = rows.filter((row) => {
    row.element.hidden = !matches(row, wanted);
    return !row.element.hidden;
  });
  for (const body of table.tBodies) body.hidden = [...body.rows].slice(1).every((row) => row.hidden);
  count(shown);
  tellNothing(shown, wanted);
  if (current.closest("[hidden]")) makeCurrent(shown.length ? shown[0].element.cells[1] : current);
  const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value)).toString();
  history.replaceState(null, "", (query ? `?${query}` : location.pathname) + location.hash);
}

function tellNothing(shown, wanted) {
  document.getElementById("nothing").hidden = shown.length > 0;
  table.parentElement.hidden = shown.length === 0;
  const names = [...form.elements].filter((field) => wanted[field.name]).map((field) => {
    const label = field.labels[0].firstChild.textContent.trim().toLowerCase();
    return `${label} “${field.selectedOptions?.[0].textContent ?? field.value}”`;
  });
  document.getElementById("wanted").textContent = names.join(", ");
}

function count(shown) {
  const totals = new Map();
  for (const row of table.tFoot.querySelectorAll("[data-count]")) {
    const verdict = row.dataset.count;
    releases.forEach((_, column) => {
      const number = shown.filter((check) => verdict === "all" || check.verdicts[column] === verdict).length;
      row.cells[column + 1].textContent = number;
      totals.set(verdict, (totals.get(verdict) ?? 0) + number);
    });
    row.hidden = verdict !== "all" && !totals.get(verdict);
  }
  const words = [...totals].filter(([verdict, number]) => verdict !== "all" && number);
  const sums = words.map(([verdict, number]) => `${number} ${verdict === "none" ? "not run" : verdict}`).join(", ");
  document.getElementById("shown").textContent =
    `${shown.length} of ${rows.length} rows, ${totals.get("all")} cells` + (sums ? `: ${sums}` : "");
}

function restore() {
  form.reset();
  for (const [name, value] of new URLSearchParams(location.search)) {
    const field = form.elements.namedItem(name);
    if (!field) continue;
    field.value = value;
    if (field.selectedIndex === -1) field.selectedIndex = 0; // a word that this matrix does not have
  }
  apply();
}

document.getElementById("clear").addEventListener("click", () => form.reset());
form.addEventListener("input", apply);
form.addEventListener("change", apply);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(apply));
addEventListener("popstate", restore);

// --- cells ---------------------------------------------------------------------------------------------

let current = table.querySelector("tbody td");

function makeCurrent(cell) {
  if (cell !== current) current.removeAttribute("tabindex");
  current = cell;
  current.tabIndex = 0;
}

function describe(cell) {
  const name = cell.parentElement.querySelector("small").textContent;
  return `${name} on torch ${releases[cell.cellIndex - 1]}: ${cell.getAttribute("aria-label")}`;
}

function open(cell, elsewhere) {
  if (cell.className === "none") return;
  const row = cell.parentElement;
  const address = `${row.querySelector("a").href}#${row.dataset.anchor}-${releases[cell.cellIndex - 1]}`;
  if (elsewhere) window.open(address, "_blank", "noopener");
  else location.href = address;
}

function neighbour(cell, key, whole) {
  const lines = rows.map((row) => row.element).filter((row) => !row.hidden);
  const line = lines.indexOf(cell.parentElement);
  const column = cell.cellIndex;
  const last = releases.length;
  const to = {
    ArrowLeft: [line, column - 1],
    ArrowRight: [line, column + 1],
    ArrowUp: [line - 1, column],
    ArrowDown: [line + 1, column],
    PageUp: [Math.max(line - 10, 0), column],
    PageDown: [Math.min(line + 10, lines.length - 1), column],
    Home: [whole ? 0 : line, 1],
    End: [whole ? lines.length - 1 : line, last],
  }[key];
  return to && to[1] >= 1 ? lines[to[0]]?.cells[to[1]] : undefined;
}

const cellOf = (event) => event.target.closest("tbody td");

table.addEventListener("click", (event) => {
  const cell = cellOf(event);
  if (cell) open(cell, event.ctrlKey || event.metaKey);
});
table.addEventListener("auxclick", (event) => {
  const cell = cellOf(event);
  if (cell && event.button === 1) open(cell, true);
});
table.addEventListener("keydown", (event) => {
  const cell = cellOf(event);
  if (!cell || event.altKey) return;
  if (event.key === "Enter") {
    open(cell, event.ctrlKey || event.metaKey);
    return;
  }
  const next = neighbour(cell, event.key, event.ctrlKey);
  if (!next) return;
  event.preventDefault();
  makeCurrent(next);
  next.focus();
});
for (const kind of ["mouseover", "focusin"]) {
  table.addEventListener(kind, (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    where.textContent = describe(cell);
    if (kind === "focusin") makeCurrent(cell);
  });
}

// The legend is folded away but on a wide screen; on a phone the choices are, too, unless one of them is in use.
function foldWhere(part, query) {
  const isNarrow = matchMedia(query);
  const fold = () => { part.open = !isNarrow.matches; };
  isNarrow.addEventListener("change", fold);
  fold();
}
const choices = form.querySelector("details.more");
foldWhere(choices, "(max-width: 640px)");
foldWhere(document.querySelector("details.meanings"), "(max-width: 70rem)");
if ([...new URLSearchParams(location.search).keys()].some((name) => name !== "q")) choices.open = true;

document.getElementById("sums").hidden = true; // those of the shown checks stand below the filters

form.hidden = false;
makeCurrent(current);
restore();
