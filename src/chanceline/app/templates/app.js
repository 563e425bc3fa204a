"use strict";
// Everything works without this script but two things: dropping a file, and progress that moves.
// It also searches columns while one types, and asks before the program is ended.

// A file that is too large is refused before it is sent.
const tooLarge = document.getElementById("too-large");
for (const form of document.querySelectorAll("form[data-limit]")) {
  form.addEventListener("submit", (event) => {
    const files = [...form.querySelectorAll("input[type=file]")].flatMap((field) => [...field.files]);
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    tooLarge.hidden = bytes <= Number(form.dataset.limit);
    if (tooLarge.hidden) return;
    event.preventDefault();
    tooLarge.scrollIntoView();
  });
}

const bring = document.getElementById("bring");
if (bring) {
  const input = document.getElementById("table");
  const drop = document.getElementById("drop");
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files.length === 0) return;
    input.files = event.dataTransfer.files;
    bring.requestSubmit();
  });
}

for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

const working = document.getElementById("working");
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    if (working && !event.defaultPrevented) working.textContent = "Reading the table …";
  });
}
// A page that the browser kept for its back button has nothing to wait for.
window.addEventListener("pageshow", () => {
  if (working) working.textContent = "";
});

const search = document.getElementById("search");
if (search) {
  const list = document.getElementById("columns");
  const found = document.getElementById("found");
  const wordsAtFirst = found.textContent;
  const listedAtFirst = new Set([...list.rows].map((row) => row.dataset.place));
  const isUnchanged = (row) => [...row.querySelector("select").options].every((option) => option.selected === option.defaultSelected || option.index === 0);
  let asked = 0;
  // Rows that a search brought go again, unless something was chosen in them.
  const forget = () => {
    for (const row of [...list.rows]) {
      if (!listedAtFirst.has(row.dataset.place) && isUnchanged(row)) row.remove();
    }
  };
  const find = async () => {
    const number = ++asked;
    const text = search.value.trim();
    let rows = [];
    let words = wordsAtFirst;
    if (text) {
      const answer = await fetch(`${search.dataset.address}?containing=${encodeURIComponent(text)}`);
      const body = document.createElement("template");
      body.innerHTML = `<table><tbody>${await answer.text()}</tbody></table>`;
      rows = [...body.content.querySelectorAll("tr")];
      const count = Number(answer.headers.get("X-Columns"));
      words = `${count} ${count === 1 ? "column has" : "columns have"} it in the name`;
      words += count > rows.length ? `; the first ${rows.length} are listed.` : ".";
    }
    if (number !== asked) return; // the user typed on
    forget();
    const places = new Set(rows.map((row) => row.dataset.place));
    for (const row of list.rows) row.hidden = text !== "" && !places.has(row.dataset.place);
    const present = new Set([...list.rows].map((row) => row.dataset.place));
    for (const row of rows) if (!present.has(row.dataset.place)) list.append(row);
    found.textContent = words;
  };
  let timer;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, 150);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}

const progress = document.getElementById("progress");
if (progress) {
  const bar = document.getElementById("bar");
  const look = async () => {
    try {
      const answer = await fetch(progress.dataset.address);
      const run = await answer.json();
      if (run.over) {
        location.reload();
        return;
      }
      document.getElementById("state").textContent = run.state === "waiting" ? "Waiting for its turn" : "Running";
      if (run.total > 0) {
        bar.max = run.total;
        bar.value = run.done;
        document.getElementById("counts").textContent = `${run.done} of at most ${run.total} ${progress.dataset.unit}`;
      }
      setTimeout(look, 700);
    } catch {
      document.getElementById("state").textContent = "The program does not answer; was it ended?";
      setTimeout(look, 3000);
    }
  };
  look();
}
