// Added to a report by browser.rs: whether long names cover each other, or are cut.
"use strict";
document.body.dataset.selftest = "the self-test did not end";
(() => {
  const failures = [];
  const check = (holds, what) => { if (!holds) failures.push(what); };
  const labels = [...document.querySelectorAll('[data-slot="scatter"] text')].filter(({ textContent }) => /verus|reminis|cubic|limit/.test(textContent));
  check(labels.length > 1, `${labels.length} schemes have a label`);
  const boxes = labels.map((label) => ({ name: label.textContent, box: label.getBoundingClientRect() }));
  boxes.forEach((a, index) => boxes.slice(index + 1).forEach((b) => {
    const apart = a.box.right <= b.box.left || b.box.right <= a.box.left || a.box.bottom <= b.box.top || b.box.bottom <= a.box.top;
    check(apart, `${a.name} covers ${b.name}`);
  }));
  const plot = document.querySelector('[data-slot="scatter"] .chart').getBoundingClientRect();
  check(boxes.every(({ box }) => box.left >= plot.left && box.right <= plot.right), "a label is cut");
  // One line a part, where the window has room for it.
  for (const part of document.querySelectorAll("tbody th span")) {
    check(part.getBoundingClientRect().height < 30, `${part.textContent} is cut`);
  }
  const tables = [...document.querySelectorAll(".scroll")];
  const fits = tables.every((table) => table.scrollWidth <= table.clientWidth);
  check(tables.length > 0 && (fits || window.innerWidth < 1000), "a table does not fit a desktop's window");
  document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
})();
