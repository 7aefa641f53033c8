// Added by browser.rs to a report over three queues and three round-trip times: picks conditions, sorts the summary, and goes from rows
// and cells to their figures and back, as a reader would.
"use strict";
{
const failures = [];
const check = (holds, what) => { if (!holds) failures.push(what); };
const summary = () => [...document.querySelectorAll("#summary tbody tr")].filter((row) => !row.hidden);
const count = (selector) => document.querySelectorAll(selector).length;
const text = (selector) => document.querySelector(selector).textContent;
const word = (name) => new URLSearchParams(location.hash.slice(1)).get(name);
const pick = (key, value) => {
  const select = document.querySelector(`#varied select[name="${key}"]`);
  select.selectedIndex = [...select.options].findIndex((option) => option.text === value);
  select.dispatchEvent(new Event("change", { bubbles: true }));
};
const sees = (rows, marks, maps, runs) => {
  const seen = [summary().length, count("#marks li"), count('[data-slot="heat"] table.cells'), text("#runs output")];
  check(seen.join() === [rows, marks, maps, `${runs} of 56 runs`].join(), `rows, marks, heat maps and runs are ${seen}`);
};
const hides = (columns) => check(["#summary", "#runs"].every((table) => count(`${table} thead th[hidden]`) === columns), `not ${columns} columns are hidden`);
const fits = (table) => table.scrollWidth <= table.clientWidth;
sees(4, 0, 1, 8);
hides(2);
check(innerWidth <= 640 || fits(document.getElementById("summary")), "the summary scrolls sideways");
check(text("#shown output") === "4 of 28 rows.", `the summary says ${text("#shown output")}`);
check(word("path.queue") === "33pkt" && word("path.rtt") === "20ms", `the address is ${location.hash}`);
pick("path.queue", "all");
sees(10, 3, 3, 20);
hides(1);
check(text("#first") === "", "nine lines over time are no tangle");
const distributions = [...document.querySelectorAll('[data-slot="cdf"] .chart')].map((chart) => chart.getAttribute("aria-label"));
check(distributions.length === 3 && distributions[2].includes("queue 130pkt"), `distributions are ${distributions}`);
check(word("path.queue") === "all", `the address is ${location.hash}`);
const marks = [...document.querySelectorAll("#marks li path:last-child")].map((path) => path.getAttribute("d"));
check(new Set(marks).size === 3, "conditions share a mark");
check(count('[data-slot="scatter"] svg [fill="#0072b2" i]') === 3, "the first scheme has no point for each condition");
document.querySelector("#shown button").click();
sees(28, 9, 9, 56);
hides(0);
check(text("#first").startsWith("Only queue 33pkt, rtt 20ms is drawn"), `over time stands ${text("#first")}`);
check(count('[data-slot="time"] [data-title^="RTT"] svg [stroke="#0072b2" i][fill="none"]') === 1, "over time the first scheme has not one line");
check(document.getElementById("shown").hidden, "nothing is hidden, and the summary says so");
pick("path.rtt", "40ms");
pick("path.queue", "65pkt");
sees(4, 0, 1, 8);
const best = summary().map((row) => row.querySelectorAll("td.best").length);
check(Math.max(...best) > 0 && best.at(-1) === 0, `the best values are in ${best}`);
const throughput = [...document.querySelectorAll("#summary thead th")].findIndex((head) => head.textContent.startsWith("Throughput"));
const values = () => summary().slice(0, -1).map((row) => parseFloat(row.cells[throughput].textContent));
const rises = (direction) => values().every((value, index, all) => index === 0 || direction * (value - all[index - 1]) >= 0);
const heading = document.querySelectorAll("#summary thead button")[throughput];
heading.click();
check(rises(-1) && word("order") === `${throughput},-1`, `sorted: ${values()}, ${location.hash}`);
heading.click();
check(rises(1) && text("#summary tbody tr:last-child th") === "(limit)", `sorted the other way: ${values()}`);
const pressed = () => [...document.querySelectorAll("#legend [aria-pressed=true]")].map((button) => button.textContent).join();
const escape = () => dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
summary().find((row) => row.textContent.startsWith("bbr")).click();
check(pressed() === "bbr" && text("#undo") === "Only bbr ✕", `a click on a row chose ${pressed()}`);
check(text("#first") === "", "the lines of one scheme are all drawn");
check(count("#summary tr.marked:not([hidden])") === 1, "the row is not marked");
escape();
check(pressed() === "" && document.getElementById("undo").hidden, "Escape does not undo it");
const cell = document.querySelector('[data-slot="heat"] tbody tr').children[1];
cell.scrollIntoView(); // as for a person who clicks; on a phone the page is long, and what is far is drawn later
cell.click();
check(pressed() === "cubic" && word("series") === "walk" && count(".cells td.marked") === 1, `a click on a cell chose ${pressed()} on ${word("series")}`);
document.getElementById("undo").click();
check(pressed() === "", "the chip does not undo it");
const root = document.documentElement;
check(root.scrollWidth <= root.clientWidth, `the page is ${root.scrollWidth} px wide`);
const card = getComputedStyle(summary()[0]);
check(innerWidth > 640 || card.gridTemplateColumns.split(" ").length === 4, `a row is laid out as ${card.display}`);
document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}
