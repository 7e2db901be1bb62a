// Comfort only; the page says everything without it. A click on a column's name sorts the table,
// a button copies what stands in a box.
"use strict";
const sorts = (table) => {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((head, column) => {
    let up = false;
    const value = (row) => {
      const cell = row.cells[column];
      const number = cell.dataset.v;
      return number === undefined ? cell.textContent.trim() : Number(number);
    };
    const isMissing = (one) => one === "–";
    const sort = () => {
      up = !up;
      const rows = Array.from(body.rows, (row) => [value(row), row]);
      rows.sort(([a], [b]) => {
        // What is missing stays at the end either way.
        if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
        const both = typeof a === "number" && typeof b === "number";
        const order = both ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
        return up ? order : -order;
      });
      rows.forEach(([, row]) => body.append(row));
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    };
    head.tabIndex = 0;
    head.classList.add("sorts");
    head.title = "Sort by this column";
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        sort();
      }
    });
  });
};
const copies = (box) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  const done = (word) => {
    button.textContent = word;
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  const select = () => {
    const range = document.createRange();
    range.selectNodeContents(box);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return document.execCommand("copy");
  };
  button.addEventListener("click", () => {
    const asked = navigator.clipboard && navigator.clipboard.writeText(box.textContent);
    Promise.resolve(asked || Promise.reject())
      .then(() => done("Copied"), () => done(select() ? "Copied" : "Selected"));
  });
  box.before(button);
};
document.querySelectorAll("table").forEach(sorts);
document.querySelectorAll("pre.copied").forEach(copies);
