// Added by browser.rs to a report that was copied without the files next to it: it says what is not there, and shows all else.
"use strict";
document.body.dataset.selftest = "the self-test did not end";
setTimeout(() => {
  const failures = [];
  const check = (holds, what) => { if (!holds) failures.push(what); };
  check(document.getElementById("missing").textContent.includes("report-series.js"), "nothing says what is missing");
  check(document.querySelector('[data-slot="scatter"] svg path') != null, "the first figure is empty");
  check(document.getElementById("made").textContent.startsWith("cellcc 0.1.0"), "the foot has no version");
  document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}, 1000);
