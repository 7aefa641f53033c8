// Added by browser.rs to a page of runs that go on, which has been read again since there was more.
"use strict";
document.body.dataset.selftest = "the self-test did not end";
const failures = [];
const check = (holds, what) => { if (!holds) failures.push(what); };
const [{ type }] = performance.getEntriesByType("navigation");
check(type === "reload", `the page was not read again, but by ${type}`);
check(document.getElementById("progress").textContent === "5 of 9 runs are finished", "it does not say how far the runs are");
const pressed = [...document.querySelectorAll("#legend [aria-pressed=true]")].map((button) => button.textContent);
check(pressed.join() === "bbr", `chosen: ${pressed}`);
check(document.querySelector('[data-slot="scatter"] svg path') != null, "the first figure is empty");
document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
