// Shows what the fragment of the address names: a series, a comparison, a trial. All text was made
// safe before it was packed. The overview itself needs no script.
const home = document.getElementById("overview");
const detail = document.getElementById("detail");
const titled = document.title;
const packs = new Map();
for (const pack of document.querySelectorAll("script[data-names]")) {
  pack.dataset.names.split(" ").forEach((name, place) => packs.set(name, { pack, place }));
}
const unpack = async (pack) => {
  const bytes = Uint8Array.from(atob(pack.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
};
// The pack that was opened last: its neighbours are often asked for next.
let opened = { pack: null, groups: [] };
const markup = async ({ pack, place }) => {
  if (opened.pack !== pack) opened = { pack, groups: await unpack(pack) };
  for (const { pages, markup, texts } of opened.groups) {
    const row = pages.indexOf(place);
    if (row < 0) continue;
    const text = (at) => {
      const column = texts[at] ?? "";
      if (typeof column === "string") return column;
      return column.length > 1 ? column[row] : column[0].split("\n")[row];
    };
    return markup.map((piece, at) => piece + text(at)).join("");
  }
  return "";
};
// A trial is found by its whole name too, or by any beginning that is not ambiguous.
const known = (asked) => {
  if (packs.has(asked) || !asked.startsWith("trial-")) return asked;
  const alike = [...packs.keys()].filter((name) => name.startsWith(asked) || asked.startsWith(name));
  return alike.length === 1 ? alike[0] : asked;
};
const absent = (asked) => {
  const heading = document.createElement("h1");
  const words = document.createElement("p");
  const id = asked.replace(/^[a-z]+-/, "");
  const command = asked.startsWith("trial-") ? `treering show ${id}`
    : asked.startsWith("comparison-") ? `treering report --campaign ${id}` : "treering history";
  heading.textContent = "Not in this file";
  words.textContent = `The store may have it: ${command}`;
  detail.replaceChildren(heading, words);
};
let left = 0;
const overview = (place) => {
  detail.hidden = true;
  home.hidden = false;
  document.title = titled;
  scrollTo(0, place);
};
const show = async () => {
  let asked = "";
  try { asked = decodeURIComponent(location.hash.slice(1)); } catch { /* no name of ours */ }
  if (asked === "" || asked === "overview") return overview(left);
  if (!/^(series|comparison|trials?)-/.test(asked)) {
    // A place in what is shown, or in the overview.
    const place = document.getElementById(asked);
    if (place && home.contains(place) && home.hidden) overview(0);
    if (place) place.scrollIntoView();
    return;
  }
  const name = known(asked);
  try {
    if (packs.has(name)) detail.innerHTML = await markup(packs.get(name));
    else absent(asked);
  } catch (wrong) {
    absent(asked);
    detail.append(`This browser cannot unpack it: ${wrong}`);
  }
  if (!home.hidden) left = scrollY;
  const back = document.createElement("p");
  back.className = "back";
  const link = document.createElement("a");
  link.href = "#overview";
  link.textContent = "← Overview of the store";
  back.append(link);
  detail.prepend(back);
  // Tables without exact numbers cannot be sorted.
  detail.querySelectorAll("table").forEach((table) => table.querySelector("[data-v]") && sorts(table));
  detail.querySelectorAll("pre.copied").forEach(copies);
  home.hidden = true;
  detail.hidden = false;
  document.title = detail.querySelector("h1").textContent;
  scrollTo(0, 0);
  detail.focus({ preventScroll: true });
};
// The contents of a detail do not change what is shown.
detail.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#part-"]');
  const place = link && document.getElementById(link.hash.slice(1));
  if (!place) return;
  event.preventDefault();
  place.scrollIntoView();
});
history.scrollRestoration = "manual";
addEventListener("hashchange", show);
show();

const filter = document.getElementById("filter");
if (filter) {
  const words = document.getElementById("words");
  const changed = document.getElementById("changed");
  const count = document.getElementById("count");
  const rows = Array.from(document.querySelectorAll(".matrix tbody tr"), (row) => {
    const variants = Array.from(row.closest("table").tHead.rows[0].cells, (cell) => cell.textContent);
    return { row, text: (row.textContent + " " + variants.join(" ")).toLowerCase() };
  });
  const apply = () => {
    const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { row, text } of rows) {
      row.hidden = !asked.every((word) => text.includes(word))
        || (changed.checked && !("changed" in row.dataset));
      shown += !row.hidden;
    }
    for (const table of document.querySelectorAll(".matrix")) {
      table.hidden = !table.querySelector("tbody tr:not([hidden])");
    }
    count.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} rows`;
  };
  words.addEventListener("input", apply);
  changed.addEventListener("change", apply);
  filter.hidden = false;
  apply();
}
