// Pages work without this script. It shows times in the reader's time zone, fetches a page
// again at intervals, and changes only what differs: focus, scroll and open details stay.
"use strict";

const SOON = 1000, LATER = 15000;  // ms until a page is fetched again
const zoned = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
});
const dated = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
  timeZoneName: "short",
});

function span(seconds) {
  for (const [size, unit] of [[86400, "days"], [3600, "h"], [60, "min"]]) {
    if (seconds >= 1.5 * size) return `${Math.round(seconds / size)} ${unit}`;
  }
  return `${Math.round(seconds)} s`;
}

function local(at) {
  return (at.getFullYear() === new Date().getFullYear() ? zoned : dated).format(at);
}

function localise(part) {
  for (const one of part.querySelectorAll("option[data-at]")) {
    const at = new Date(one.dataset.at);
    if (!isNaN(at)) one.textContent = local(at) + (one.dataset.tail || "");
  }
  for (const one of part.querySelectorAll("time[datetime]")) {
    const iso = one.getAttribute("datetime"), at = new Date(iso);
    if (isNaN(at)) continue;
    const here = local(at);
    const utc = `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
    if ("rel" in one.dataset) one.title = `${here} (${utc})`;
    else if ("ago" in one.dataset) {
      one.textContent = `${span(Math.max(0, (Date.now() - at) / 1000))} ago`;
      one.title = `${here} (${utc})`;
    } else {
      one.textContent = here;
      one.title = utc;
    }
  }
}

// Makes one element equal to another, changing only what differs.
function morph(here, there) {
  if (here.isEqualNode(there)) return;
  if (here.nodeType !== there.nodeType || here.nodeName !== there.nodeName ||
      (here.id || "") !== (there.id || "")) {
    here.replaceWith(there.cloneNode(true));
    return;
  }
  if (here.nodeType !== 1) {
    if (here.nodeValue !== there.nodeValue) here.nodeValue = there.nodeValue;
    return;
  }
  for (const { name, value } of [...there.attributes]) {
    if (name !== "open" && here.getAttribute(name) !== value) here.setAttribute(name, value);
  }
  for (const { name } of [...here.attributes]) {
    if (name !== "open" && !there.hasAttribute(name)) here.removeAttribute(name);
  }
  if (here.nodeName === "TEXTAREA") return;  // what the user typed stays
  const old = [...here.childNodes], now = [...there.childNodes];
  now.forEach((child, i) => {
    if (old[i]) morph(old[i], child);
    else here.append(child.cloneNode(true));
  });
  old.slice(now.length).forEach((child) => child.remove());
}

async function read(url, how) {
  const answer = await fetch(url, { credentials: "same-origin", ...how });
  if (!(answer.headers.get("content-type") || "").startsWith("text/html")) throw new Error(answer.status);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  localise(page);
  return { answer, page };
}

function show(page, parts, force) {
  for (const part of parts) {
    const here = document.querySelector(part), there = page.querySelector(part);
    if (here && there) morph(here, there);
  }
  if (!force) return;
  for (const one of document.querySelectorAll("form[data-live] [name]")) {
    const there = page.querySelector(`form[data-live] [name="${CSS.escape(one.name)}"]`);
    if (there) one.value = there.value;
  }
}

const ALL = ["header nav", "#main", "footer"];
let asking = null, doing = 0;  // the latest swap, and the number of user actions

async function swap(url, part, push) {
  const here = document.querySelector(part);
  if (!here) return;
  if (asking) asking.abort();
  asking = new AbortController();
  doing += 1;
  here.classList.add("busy");
  try {
    const { answer, page } = await read(url, { signal: asking.signal });
    if (!answer.ok || !page.querySelector(part)) { location.assign(url); return; }
    show(page, [part, "footer"]);
    if (push) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  } finally {
    document.querySelector(part)?.classList.remove("busy");
  }
}

function address(form) {
  return form.getAttribute("action") + "?" + new URLSearchParams(new FormData(form));
}

// Typing and dragging replace the address; a finished input adds a step to the history.
let wait = 0, begun = "";
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form || !form.dataset.live) return;
  const shown = form.querySelector("output");
  if (shown && event.target.type === "range") {
    shown.textContent = Number(event.target.value).toLocaleString("en");
  }
  clearTimeout(wait);
  const push = begun !== event.target.name;
  begun = event.target.name;
  wait = setTimeout(() => swap(address(form), form.dataset.live, push), 90);
});
document.addEventListener("change", () => { begun = ""; });

addEventListener("popstate", () => read(location.href).then(({ page }) => {
  show(page, ALL, true);
  document.querySelectorAll("form[data-live] output").forEach((one) => {
    const range = one.form.querySelector("input[type=range]");
    if (range) one.textContent = Number(range.value).toLocaleString("en");
  });
}).catch(() => location.reload()));

// A button's action is sent without leaving the page, which then shows the result.
async function act(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  doing += 1;
  try {
    const { answer, page } = await read(form.action, { method: "POST", body });
    if (answer.ok && new URL(answer.url).pathname !== location.pathname) {
      location.assign(answer.url);
      return;
    }
    show(page, ALL, true);
    later();
  } catch {
    location.reload();
  }
  if (document.activeElement !== document.body) return;
  const next = document.querySelector(".case form button, #jobs button") || document.querySelector("#held, #main");
  next.focus({ preventScroll: true });
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if ("act" in form.dataset) {
    event.preventDefault();
    act(form, event.submitter);
  } else if (form.method === "get" && form.dataset.live) {
    event.preventDefault();
    swap(address(form), form.dataset.live, true);
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  swap(link.href, "#list", true).then(() => {
    for (const name of ["sort", "order"]) {
      const kept = document.querySelector(`.filters input[name=${name}]`);
      if (kept) kept.value = new URLSearchParams(location.search).get(name) || kept.value;
    }
  });
});

// A hidden page is not renewed; of a page that the user types into only the list of jobs.
function isTouched() {
  const fields = document.querySelectorAll("main form:not([data-live]) :is(input, textarea)");
  return document.activeElement?.matches("input, select, textarea") ||
    [...fields].some((one) => one.value !== one.defaultValue || one.checked !== one.defaultChecked) ||
    getSelection().toString();
}

let timer = 0;
function later() {
  clearTimeout(timer);
  timer = setTimeout(renew, document.querySelector("[data-poll], #working") ? SOON : LATER);
}

async function renew() {
  const whole = document.querySelector("main[data-renew]") && !isTouched();
  if (!document.hidden && (whole || document.querySelector("#jobs[data-poll]"))) {
    const before = doing, url = location.href;
    try {
      const { answer, page } = await read(url);
      if (answer.ok && before === doing && url === location.href) show(page, whole ? ALL : ["#jobs"]);
    } catch { /* the server went away: the page stays as it is */ }
  }
  later();
}

localise(document);
later();
document.addEventListener("visibilitychange", () => { if (!document.hidden) renew(); });
