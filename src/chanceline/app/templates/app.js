"use strict";
// Everything works without this script but two things: dropping a file, and progress that moves.

const bring = document.getElementById("bring");
if (bring) {
  const input = document.getElementById("table");
  const drop = document.getElementById("drop");
  const tooLarge = document.getElementById("too-large");

  const isTooLarge = () => {
    const files = [...bring.querySelectorAll("input[type=file]")].flatMap((field) => [...field.files]);
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    return bytes > Number(bring.dataset.limit);
  };
  bring.addEventListener("submit", (event) => {
    tooLarge.hidden = !isTooLarge();
    if (!tooLarge.hidden) event.preventDefault();
  });
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
        document.getElementById("counts").textContent = `${run.done} of at most ${run.total} shuffled labellings`;
      }
      setTimeout(look, 700);
    } catch {
      document.getElementById("state").textContent = "The program does not answer; was it ended?";
      setTimeout(look, 3000);
    }
  };
  look();
}
