// Added to a report by browser.rs: sorts and filters the table of runs and chooses one of them, as a reader would.
"use strict";
{
const failures = [];
const check = (holds, what) => { if (!holds) failures.push(what); };
const section = document.getElementById("runs");
const rows = () => [...section.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
const heading = (text) => [...section.querySelectorAll("thead button")].find((button) => button.textContent.startsWith(text));
const column = (text) => [...section.querySelectorAll("thead button")].indexOf(heading(text));
const isSorted = (values, direction) => values.every((value, index) => index === 0 || direction * (value - values[index - 1]) >= 0);
const values = (text) => rows().map((row) => Number(row[column(text)]));
check(rows().length === 6, `${rows().length} runs`);
check(isSorted(values("95th percentile of the RTT"), -1), "the longest delays are not first");
heading("Throughput").click();
check(isSorted(values("Throughput"), -1), "not sorted by throughput");
heading("Throughput").click();
check(isSorted(values("Throughput"), 1), "not sorted the other way");
const filter = section.querySelector("[name=filter]");
filter.value = "CUBIC walk";
filter.dispatchEvent(new Event("input", { bubbles: true }));
check(rows().length === 1 && rows()[0][0] === "cubic" && rows()[0][1] === "walk", `the filter leaves ${rows()}`);
filter.value = "drive";
filter.dispatchEvent(new Event("input", { bubbles: true }));
check(rows().length === 3 && section.querySelector("output").textContent === "3 of 6 runs", "the filter does not say what it leaves");
[...section.querySelectorAll("tbody button")].find((button) => button.textContent === "bbr").click();
const pressed = [...document.querySelectorAll("#legend [aria-pressed=true]")].map((button) => button.textContent);
check(pressed.join() === "bbr", `a click on a run of bbr chose ${pressed}`);
check(document.querySelector("[name=series]").value === "drive" && document.querySelector("[name=view]").value === "drive", "the trace of the run is not shown");
const link = new URLSearchParams(location.hash.slice(1));
check(link.get("only") === "bbr" && link.get("series") === "drive" && link.get("filter") === "drive", `the address is ${location.hash}`);
// A cell of the heat map does the same.
document.querySelectorAll(".cells tbody tr")[0].children[1].click();
check(document.querySelector("#legend [aria-pressed=true]").textContent === "cubic", "a click on a cell chose nothing");
const saved = [];
URL.createObjectURL = (blob) => { saved.push(blob.type); return "data:,"; };
for (const button of document.querySelectorAll('[data-slot="scatter"] .save button')) button.click();
check(saved.join() === "image/svg+xml,text/csv", `saved ${saved}`);
document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}
