// Added by browser.rs to a report of varied runs with curves: each figure must have its lines, without an error on the way.
"use strict";
{
const failures = [];
const drawn = (selector, lines, count = 1) => {
  const found = [...document.querySelectorAll(selector)].filter((chart) => chart.querySelectorAll("svg path").length > lines);
  if (found.length < count) failures.push(`${selector}: ${found.length} of ${count} figures`);
};
drawn("#sweep-vertical", 9);
drawn("#sweep-delay", 9);
drawn('[data-quantity="curve profile"]', 20, 2);
drawn('[data-quantity="curve throughput"]', 20, 2);
if (document.documentElement.scrollWidth > document.documentElement.clientWidth) failures.push("the page is too wide");
document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}
