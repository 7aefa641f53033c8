// Added by browser.rs to a report over 8 queues and 7 round-trip times: each of three schemes has a heat map of each of three quantities.
"use strict";
{
const maps = [...document.querySelectorAll('[data-slot="sweep"] table.cells')];
const failures = [];
if (maps.length !== 9) failures.push(`${maps.length} heat maps`);
for (const map of maps) {
  const filled = [...map.querySelectorAll("tbody td")].filter((cell) => cell.textContent).length;
  if (filled !== 56) failures.push(`${filled} cells`);
}
const caption = maps[0]?.caption?.textContent;
if (caption !== "cubic: Utilisation, path.rtt over path.queue") failures.push(`the caption is ${caption}`);
document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}
