// Added by browser.rs to a report of many runs in the window of a desktop: it draws what can be seen, and the rest when it comes near.
"use strict";
document.body.dataset.selftest = "the self-test did not end";
const failures = [];
const check = (holds, what) => { if (!holds) failures.push(what); };
const drawn = (slot) => document.querySelectorAll(`[data-slot="${slot}"] svg, [data-slot="${slot}"] td`).length;
check(document.getElementById("echarts").type === "text/plain", "the library that draws keeps the page from being shown");
for (const slot of ["heat", "time", "inside"]) check(drawn(slot) === 0, `${drawn(slot)} parts of ${slot}, which nobody sees, are drawn`);
check(document.querySelectorAll("#runs tbody tr").length === 25, "all runs are in the table, which nobody sees");
document.querySelector('[data-slot="scatter"]').scrollIntoView();
setTimeout(() => {
  check(drawn("scatter") > 0, "the first figure was not drawn when it came near");
  document.querySelector('[data-slot="heat"]').scrollIntoView();
}, 300);
setTimeout(() => {
  check(drawn("heat") > 60 * 21, "the heat map was not drawn when it came near");
  document.querySelector('[data-slot="time"]').scrollIntoView();
  setTimeout(() => {
    check(drawn("time") > 2, "figures over time were not drawn when they came near");
    document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
  }, 500);
}, 800);
