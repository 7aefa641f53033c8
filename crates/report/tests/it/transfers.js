// Added to a report of transfers by browser.rs: leaves in data-selftest of the body whether its first figure shows them.
"use strict";
document.body.dataset.selftest = "the self-test did not end";
(() => {
  const failures = [];
  const check = (holds, what) => { if (!holds) failures.push(what); };
  const scatter = document.querySelector('[data-slot="scatter"]');
  const CUBIC = "#0072b2"; // the first scheme's colour
  check(scatter.querySelector(`svg [fill="${CUBIC}" i]`), "no marker of the first scheme");
  check(scatter.textContent.includes("Throughput, Mbit/s"), "the axis is not the throughput");
  const fieldset = document.querySelector("[name=vertical]").closest("fieldset");
  check(getComputedStyle(fieldset).display === "none", "an axis can be chosen of which nothing is known");
  check(!document.querySelector('[data-slot="time"]').textContent.includes("capacity"), "a capacity is promised");
  document.body.dataset.selftest = failures.concat(collectedErrors).join("; ") || "passed";
})();
