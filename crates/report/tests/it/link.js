// Added by browser.rs to a report that was opened by a link: whether it shows what the link says.
"use strict";
{
const failures = [];
const check = (holds, what) => { if (!holds) failures.push(what); };
const value = (name) => (document.querySelector(`input[name=${name}]:checked`) ?? document.querySelector(`[name=${name}]`)).value;
for (const [name, expected] of Object.entries({ view: "drive", series: "drive", delay: "queueing", filter: "drive", from: "1", to: "3" })) {
  check(value(name) === expected, `${name} is ${value(name)}`);
}
const pressed = [...document.querySelectorAll("#legend [aria-pressed=true]")].map((button) => button.textContent);
check(pressed.join() === "bbr", `chosen: ${pressed}`);
check(document.querySelector("#runs [aria-sort=ascending]").textContent === "Scheme", "not sorted by scheme");
check(document.querySelectorAll("#runs tbody tr").length === 1, "not one run of bbr on drive");
check(document.querySelector('[data-slot="scatter"]').textContent.includes("queueing delay"), "the axis is not the queueing delay");
document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}
