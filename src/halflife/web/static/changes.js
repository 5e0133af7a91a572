// Pages work without this script: it sends a form as soon as a choice is made.
"use strict";
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && form.dataset.send !== undefined && event.target.matches("select")) form.requestSubmit();
});
