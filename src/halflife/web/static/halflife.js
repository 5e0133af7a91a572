// Pages are whole without this. It swaps the part of a page that an answer changes,
// and looks again while something runs. What is swapped in was made by this server.
"use strict";

let asking = null;

async function fetched(url) {
  if (asking) asking.abort();
  asking = new AbortController();
  const answer = await fetch(url, { signal: asking.signal, credentials: "same-origin" });
  if (!answer.ok) throw new Error(answer.status);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

async function swap(url, part) {
  const here = document.querySelector(part);
  if (!here) return;
  here.classList.add("busy");
  try {
    const there = (await fetched(url)).querySelector(part);
    if (!there) { location.assign(url); return; }
    const open = [...here.querySelectorAll("details")].map((one) => one.open);
    here.replaceWith(there);
    there.querySelectorAll("details").forEach((one, i) => { one.open = open[i] || false; });
    history.replaceState(null, "", url);
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  }
}

function address(form) {
  return form.getAttribute("action") + "?" + new URLSearchParams(new FormData(form));
}

let wait = 0;
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form || !form.dataset.live) return;
  const shown = form.querySelector("output");
  if (shown && event.target.type === "range") {
    shown.textContent = Number(event.target.value).toLocaleString("en");
  }
  clearTimeout(wait);
  wait = setTimeout(() => swap(address(form), form.dataset.live), 90);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "get" || !form.dataset.live) return;
  event.preventDefault();
  swap(address(form), form.dataset.live);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const label = link.textContent;
  swap(link.href, "#list").then(() => {
    const again = [...document.querySelectorAll("#list a[data-swap]")]
      .find((one) => one.textContent.trim()[0] === label.trim()[0] &&
        one.textContent.split(" ")[0] === label.split(" ")[0]);
    if (again) again.focus();
    for (const name of ["sort", "order"]) {
      const kept = document.querySelector(`.filters input[name=${name}]`);
      if (kept) kept.value = new URLSearchParams(location.search).get(name) || kept.value;
    }
  });
});

async function poll() {
  const shown = document.querySelector("#jobs[data-poll]");
  if (!shown) return;
  try {
    const answer = await fetch("/jobs.json", { credentials: "same-origin" });
    const jobs = (await answer.json()).results;
    if (!jobs.some((job) => job.state === "running")) { location.reload(); return; }
  } catch { /* the server went away: the page stays as it is */ }
  setTimeout(poll, 1000);
}
setTimeout(poll, 500);

async function fill() {
  if (!document.querySelector("#working")) return;
  try {
    const answer = await fetch("/ready.json", { credentials: "same-origin" });
    if ((await answer.json()).ready) {
      await swap(location.href, "#main");
      await swap(location.href, "footer");
    }
  } catch { /* the server went away: the page stays as it is */ }
  setTimeout(fill, 1000);
}
setTimeout(fill, 500);
