// Added to a report by browser.rs: switches schemes off and on as a reader would, and leaves what it saw in
// data-selftest of the body.
"use strict";
document.body.dataset.selftest = "the self-test did not end";
for (const details of document.querySelectorAll("details")) details.open = true;
setTimeout(() => {
  const failures = [];
  const check = (holds, what) => { if (!holds) failures.push(what); };
  const charts = () => [...document.querySelectorAll(".chart")].filter((chart) => !chart.closest("[hidden]"));
  const nameOf = (chart) => chart.closest("[data-slot]").dataset.slot + " " + chart.dataset.title;
  // Lines and markers of a colour, as the browser has them.
  const drawnIn = (chart, colour) => chart.querySelectorAll(`svg [stroke="${colour}" i], svg [fill="${colour}" i]`).length;
  const everywhere = ["scatter Utilisation", "cdf Share of packets, mean of traces", "time Throughput, Mbit/s", "time RTT, ms",
    "time Queueing delay, ms", "time Window, packets"];
  const names = charts().map(nameOf);
  for (const expected of [...everywhere, "inside mu", "inside zone"]) check(names.some((name) => name.startsWith(expected)), `no figure ${expected} in ${names}`);
  const zone = charts().find((chart) => nameOf(chart).startsWith("inside zone"));
  check(["explore", "cut"].every((state) => zone?.textContent.includes(state)), `the states have no names: ${zone?.textContent}`);
  for (const chart of charts()) {
    const box = chart.querySelector("svg")?.getBoundingClientRect();
    check(box?.width > 200 && box?.height > 100, `${nameOf(chart)} is empty`);
    check(chart.querySelectorAll("svg path").length > 5, `${nameOf(chart)} shows nothing`);
  }
  const CUBIC = "#0072b2"; // the first scheme's colour
  const BBR = "#d55e00"; // the second one's
  const [first, second] = document.querySelectorAll("#legend button");
  const shown = (colour) => charts().filter((chart) => drawnIn(chart, colour) > 0).map(nameOf);
  check(everywhere.every((name) => shown(CUBIC).includes(name)), `the first scheme is only in ${shown(CUBIC)}`);
  second.click();
  check(shown(CUBIC).length === 0, `only the second scheme is chosen, and the first one is still in ${shown(CUBIC)}`);
  check(everywhere.every((name) => shown(BBR).includes(name)), `the chosen scheme is only in ${shown(BBR)}`);
  check(second.getAttribute("aria-pressed") === "true", "the button does not say that its scheme is chosen");
  first.click();
  check(everywhere.every((name) => shown(CUBIC).includes(name)), "a second scheme cannot be chosen");
  first.click();
  second.click();
  check(everywhere.every((name) => shown(CUBIC).includes(name)), "where none is chosen, not all are shown");
  for (const input of document.querySelectorAll(".controls input[type=radio]")) input.click();
  const selects = [...document.querySelectorAll(".controls select")];
  for (const select of selects) {
    select.selectedIndex = select.length - 1;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  }
  check(selects.length === 3 && shown(CUBIC).length >= 6, `another trace shows only ${shown(CUBIC)}`);
  // A mouse drawn across one plot zooms them all.
  const plot = document.querySelector('[data-slot="time"] [data-title="RTT, ms"]');
  const surface = plot.firstElementChild;
  const box = surface.getBoundingClientRect();
  const mouse = (kind, share) => {
    const at = { clientX: box.left + box.width * share, clientY: box.top + box.height / 2 };
    surface.dispatchEvent(new PointerEvent(`pointer${kind}`, { ...at, bubbles: true, pointerType: "mouse", button: 0 }));
  };
  mouse("down", 0.4);
  for (const share of [0.45, 0.5, 0.6]) mouse("move", share);
  mouse("up", 0.6);
  setTimeout(() => {
    const { from, to } = document.getElementById("time-controls").elements;
    const [first, last] = [Number(from.value), Number(to.value)];
    // Plots over time have 66 px on their left, and 24 px on their right.
    const at = (share) => 20 * (box.width * share - 66) / (box.width - 90);
    check(Math.abs(first - at(0.4)) < 0.5 && Math.abs(last - at(0.6)) < 0.5, `a drag from 40 to 60 % of 20 s shows ${first} to ${last} s`);
    const root = document.documentElement;
    check(root.scrollWidth <= root.clientWidth, `the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth} px`);
    check(performance.getEntriesByType("resource").length === 0, "the page loaded something");
    document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
  }, 200);
}, 200);
