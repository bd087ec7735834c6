// The cell that the address names is open.
"use strict";

function reveal() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(named instanceof HTMLDetailsElement)) return;
  named.open = true;
  named.scrollIntoView({ block: "start" });
}

addEventListener("hashchange", reveal);
reveal();
