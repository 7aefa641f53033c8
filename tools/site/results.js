// The results explorer. A word that a table's name or head has keeps its rows, another one those rows that have it, and a word of the
// command alone keeps them as well.
"use strict";
{
  const lower = (element) => element.textContent.toLowerCase();
  const texts = (section, selector) => Array.from(section.querySelectorAll(selector), lower).join(" ");
  const results = Array.from(document.querySelectorAll(".result"), (section) => {
    const rows = Array.from(section.querySelectorAll("tbody tr"), (row) => ({ row, text: lower(row) }));
    return { section, rows, about: texts(section, "p, thead"), command: texts(section, "pre") };
  });
  const input = document.getElementById("words");

  const narrow = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let tables = 0;
    for (const { section, rows, about, command } of results) {
      const ofRows = words.filter((word) => !about.includes(word) && rows.some(({ text }) => text.includes(word)));
      const isFound = words.every((word) => ofRows.includes(word) || about.includes(word) || command.includes(word));
      let isShown = false;
      for (const { row, text } of rows) {
        row.hidden = !isFound || !ofRows.every((word) => text.includes(word));
        isShown ||= !row.hidden;
      }
      section.hidden = !isShown;
      tables += isShown;
    }
    document.getElementById("found").textContent = `${tables} of ${results.length} tables`;
  };

  input.addEventListener("input", () => {
    history.replaceState(null, "", `#${encodeURIComponent(input.value)}`);
    narrow();
  });
  // The book turns its pages by keys.
  input.addEventListener("keydown", (event) => event.stopPropagation());
  input.value = decodeURIComponent(location.hash.slice(1));
  narrow();
}
