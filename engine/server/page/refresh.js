"use strict";

// Puts what the server says now in place of what the page shows; without this script a browser loads it anew instead.
const SECONDS = 5;
let timer;

async function refresh() {
  clearTimeout(timer);
  if (!document.hidden && getSelection().isCollapsed) {
    document.getElementById("lost").hidden = await load();
  }
  timer = setTimeout(refresh, SECONDS * 1000);
}

async function load() {
  try {
    // The page's own address may have a token in it, which a browser does not fetch by.
    const answer = await fetch(`${location.origin}/`, { cache: "no-store" });
    if (!answer.ok) {
      return false;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of ["header > p", "main"]) {
      document.querySelector(part).replaceWith(page.querySelector(part));
    }
    return true;
  } catch {
    return false;
  }
}

document.addEventListener("visibilitychange", refresh);
timer = setTimeout(refresh, SECONDS * 1000);
