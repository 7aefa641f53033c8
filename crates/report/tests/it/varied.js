// Added by browser.rs to a report of varied runs with curves: each figure must have its lines, without an error on the way.
"use strict";
{
const failures = [];
const drawn = (selector, lines, count = 1) => {
  const found = [...document.querySelectorAll(selector)].filter((chart) => chart.querySelectorAll("svg path").length > lines);
  if (found.length < count) failures.push(`${selector}: ${found.length} of ${count} figures`);
};
for (const details of document.querySelectorAll("details")) details.open = true;
setTimeout(() => {
drawn('[data-slot="sweep"] .chart', 9, 3);
drawn('[data-slot="curves"] .chart', 20, 4);
if (document.documentElement.scrollWidth > document.documentElement.clientWidth) failures.push("the page is too wide");
document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}, 200);
}
