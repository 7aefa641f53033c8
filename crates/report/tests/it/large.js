// Added by browser.rs to a report of many runs with files next to it: chooses as a reader would.
"use strict";
document.body.dataset.selftest = "the self-test did not end";
setTimeout(() => {
  const failures = [];
  const check = (holds, what) => { if (!holds) failures.push(what); };
  const made = document.getElementById("made").textContent;
  for (const part of ["cellcc 0.1.0", "seed 1", "2026-11-24T20:00:00Z", "linux x86_64", "cellcc compare --title 'A b'"]) check(made.includes(part), `the foot is ${made}`);
  const series = document.querySelector("[name=series]");
  check(series.length === 60, `${series.length} traces have series`);
  check(series.value === "007-driving" && document.querySelectorAll('[data-slot="time"] svg path').length > 20, "the series of the file next to the page are not drawn");
  const legend = document.getElementById("legend").getBoundingClientRect();
  check(legend.height <= 110, `the legend is ${legend.height} px high`);
  const sorted = () => [...document.querySelectorAll("#runs tbody tr")].length;
  check(sorted() === 25, `${sorted()} runs are shown at first`);
  document.querySelector("#runs [name=more]").click();
  check(sorted() === 21 * 60, `${sorted()} runs are shown`);
  document.querySelectorAll("#legend button")[6].click();
  check(sorted() === 60, `${sorted()} runs of one scheme are shown`);
  const [summary] = document.querySelectorAll('[data-slot="inside"] summary');
  check(summary.textContent === "reminis", `the first scheme is ${summary.textContent}`);
  const root = document.documentElement;
  check(root.scrollWidth <= root.clientWidth, `the page is ${root.scrollWidth} px wide`);
  document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}, 1000);
