// Forms preview their change while the user types, trials show their progress, and charts
// can be saved as pictures. All pages work without this script.
"use strict";

document.documentElement.classList.add("has-script");

// A form previews its change: the parts of the page that show it are replaced.
let later = 0;
let previewing = null;

async function preview(form) {
  if (previewing) previewing.abort();
  previewing = new AbortController();
  const fields = new URLSearchParams(new FormData(form));
  const mark = fields.get("mark");
  fields.delete("mark");
  const url = form.getAttribute("action") + "?" + fields;
  try {
    const answer = await fetch(url, { signal: previewing.signal, credentials: "same-origin" });
    if (!answer.ok) { expired(form, answer.status); return; }
    const there = new DOMParser().parseFromString(await answer.text(), "text/html");
    expired(form, 200);
    renew(form, there);
    history.replaceState(null, "", url);
    if (mark !== null) form.elements.mark.value = mark;
  } catch (error) {
    if (error.name !== "AbortError") expired(form, 0);
  }
}

function renew(form, there) {
  for (const part of form.querySelectorAll("[data-part]")) {
    const other = there.getElementById(part.id);
    if (other && other.innerHTML !== part.innerHTML) part.replaceWith(other);
  }
  for (const field of form.querySelectorAll("[aria-describedby]")) {
    const other = there.getElementById(field.id);
    const bad = other !== null && other.hasAttribute("aria-invalid");
    if (bad) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}

const MESSAGES = {
  0: "The server does not answer. What you typed stays here; try again when it is back.",
  401: "This page is no longer signed in: the server was started again. Open the address " +
    "that halflife serve prints in another tab; then press the button once more. What you " +
    "typed stays here.",
};

function expired(form, status) {
  const message = form.querySelector("#expired");
  if (message) message.textContent = status === 200 ? "" : MESSAGES[status] || "";
}

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form || !("preview" in form.dataset)) return;
  clearTimeout(later);
  later = setTimeout(() => preview(form), 250);
});

// Before a form is sent, check that the server would accept it: else the input is lost.
let sure = false;
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const button = event.submitter;
  if (!("preview" in form.dataset) || sure) return;
  event.preventDefault();
  if (!button || button.formMethod !== "post") { preview(form); return; }
  clearTimeout(later);
  if (previewing) previewing.abort();
  try {
    const answer = await fetch("/ready.json", { credentials: "same-origin" });
    expired(form, answer.status);
    if (!answer.ok) return;
  } catch { expired(form, 0); return; }
  sure = true;
  form.requestSubmit(button);
  sure = false;
});

async function watch() {
  const shown = document.querySelector("[data-trial]");
  if (!shown) return;
  try {
    const url = "/add/trial.json?trial=" + encodeURIComponent(shown.dataset.trial);
    const answer = await fetch(url, { credentials: "same-origin" });
    const found = await answer.json();
    if (found.state !== "running") { location.reload(); return; }
    const list = document.getElementById("answered");
    for (const one of found.answered.slice(list.children.length)) {
      const line = document.createElement("li");
      line.className = "url";
      line.textContent = one + " answered";
      list.append(line);
    }
  } catch { /* the server went away: the page stays as it is */ }
  setTimeout(watch, 500);
}
setTimeout(watch, 300);

// What-if: the slider and the number stay equal; Back returns to the previous budget.
const budgetForm = document.querySelector("form[data-budget]");
let imagining = null;

async function imagine(url, push) {
  if (imagining) imagining.abort();
  imagining = new AbortController();
  const here = document.getElementById("bought");
  here.classList.add("busy");
  if (push && url !== location.pathname + location.search) history.pushState(null, "", url);
  try {
    const answer = await fetch(url, { signal: imagining.signal, credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const there = page.getElementById("bought");
    const open = [...here.querySelectorAll("details")].map((one) => one.open);
    there.querySelectorAll("details").forEach((one, i) => { one.open = open[i] || false; });
    document.getElementById("bought").replaceWith(there);
    const slider = document.getElementById("budget");
    slider.max = page.getElementById("budget").max;
    slider.value = document.getElementById("asked").value;
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  }
}

if (budgetForm) {
  const slider = document.getElementById("budget");
  const number = document.getElementById("asked");
  const address = () => budgetForm.getAttribute("action") + "?budget=" + number.value;
  let soon = 0;
  slider.addEventListener("input", () => { number.value = slider.value; });
  number.addEventListener("input", () => { slider.value = number.value; });
  budgetForm.addEventListener("input", () => {
    clearTimeout(soon);
    if (number.checkValidity()) soon = setTimeout(() => imagine(address(), false), 90);
  });
  const settle = () => {
    clearTimeout(soon);
    if (number.reportValidity()) imagine(address(), true);
  };
  budgetForm.addEventListener("change", settle);
  budgetForm.addEventListener("submit", (event) => { event.preventDefault(); settle(); });
  window.addEventListener("popstate", () => {
    const budget = new URLSearchParams(location.search).get("budget") || budgetForm.dataset.budget;
    number.value = budget;
    slider.value = budget;
    imagine(location.pathname + location.search, false);
  });
}

// The browser renders the SVG as a PNG picture; no other program is needed.
async function png(url) {
  const text = await (await fetch(url, { credentials: "same-origin" })).text();
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.naturalWidth;
  canvas.height = 2 * image.naturalHeight;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const link = document.createElement("a");
  link.href = canvas.toDataURL("image/png");
  link.download = "what-if.png";
  link.click();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-png]");
  if (button) png(button.dataset.png);
});
