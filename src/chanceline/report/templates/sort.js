"use strict";
// A click on a heading sorts the table by its column: upwards, downwards, as it was.
// Without this script the tables can be read as they are.
const NEXT_ORDER = { none: "ascending", ascending: "descending", descending: "none" };

function cellValue(row, column) {
  const cell = row.cells[column];
  const text = cell.textContent.trim();
  return cell.classList.contains("number") ? Number(text) : text;
}

// Numbers come before text, and empty cells last in both orders.
function compareCells(left, right, sign) {
  if (left === "" || right === "") return (left === "") - (right === "");
  if (typeof left !== typeof right) return typeof left === "number" ? -1 : 1;
  if (typeof left === "number") return sign * (left - right);
  return sign * left.localeCompare(right, "en", { numeric: true });
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const rowsAsTheyWere = [...body.rows];
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];

  function sortBy(column) {
    const order = NEXT_ORDER[headings[column].getAttribute("aria-sort") ?? "none"];
    for (const heading of headings) heading.removeAttribute("aria-sort");
    const rows = [...rowsAsTheyWere];
    if (order !== "none") {
      headings[column].setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      rows.sort((a, b) => compareCells(cellValue(a, column), cellValue(b, column), sign));
    }
    body.append(...rows);
  }

  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.title = "sort by this column";
    button.addEventListener("click", () => sortBy(column));
    heading.replaceChildren(button);
  });
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
