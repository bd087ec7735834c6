// What every page has: the result that the address names is opened, and buttons copy what stands beside them.
"use strict";

function reveal() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const line = named?.closest("details.cell");
  if (!line) return;
  for (const other of document.querySelectorAll("details.cell.named")) other.classList.remove("named");
  line.classList.add("named");
  line.open = true;
  line.scrollIntoView({ block: "start" });
}

async function copy(button) {
  const place = button.parentElement;
  const text = [...place.querySelectorAll("code")].map((code) => code.textContent).join("");
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from the file system may have no clipboard: select the text, so that a key copies it.
    for (const folded of place.querySelectorAll("details")) folded.open = true;
    getSelection().selectAllChildren(place);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    return;
  }
  button.textContent = "Copied";
}

for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.setAttribute("aria-label", "Copy");
  button.addEventListener("click", () => {
    copy(button).then(() => setTimeout(() => { button.textContent = "Copy"; }, 1500));
  });
}

addEventListener("hashchange", reveal);
reveal();
