// Added to a report by browser.rs: switches schemes off and on as a reader would, and leaves what it saw in
// data-selftest of the body.
"use strict";
document.body.dataset.selftest = "the self-test did not end";
(() => {
  const failures = [];
  const check = (holds, what) => { if (!holds) failures.push(what); };
  const charts = () => [...document.querySelectorAll(".chart")].filter((chart) => !chart.closest("[hidden]"));
  // Lines and markers of a colour, as the browser has them.
  const drawnIn = (chart, colour) => chart.querySelectorAll(`svg [stroke="${colour}" i], svg [fill="${colour}" i]`).length;
  const names = charts().map((chart) => chart.id || chart.dataset.quantity);
  for (const expected of ["scatter", "cdf", "throughput_mbit_s", "rtt_ms", "queueing_delay_ms", "window_packets", "reminis.mu"]) {
    check(names.includes(expected), `no figure ${expected}`);
  }
  for (const chart of charts()) {
    const box = chart.querySelector("svg")?.getBoundingClientRect();
    check(box?.width > 200 && box?.height > 100, `${chart.id || chart.dataset.quantity} is empty`);
    check(chart.querySelectorAll("svg path").length > 5, `${chart.id || chart.dataset.quantity} shows nothing`);
  }
  const CUBIC = "#0072b2"; // the first scheme's colour
  const first = document.querySelector("#legend button");
  const everywhere = ["scatter", "cdf", "throughput_mbit_s", "rtt_ms", "queueing_delay_ms", "window_packets"];
  const shown = () => charts().filter((chart) => drawnIn(chart, CUBIC) > 0).map((chart) => chart.id || chart.dataset.quantity);
  check(everywhere.every((name) => shown().includes(name)), `the first scheme is only in ${shown()}`);
  first.click();
  check(shown().length === 0, `the first scheme, switched off, is still in ${shown()}`);
  check(first.getAttribute("aria-pressed") === "false", "the button does not say that its scheme is off");
  first.click();
  check(everywhere.every((name) => shown().includes(name)), "the first scheme does not come back");
  for (const input of document.querySelectorAll("#view-controls input")) input.click();
  const selects = [...document.querySelectorAll("select")];
  for (const select of selects) {
    select.selectedIndex = select.length - 1;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  }
  check(selects.length === 2 && everywhere.every((name) => shown().includes(name)), "another trace shows nothing");
  // A mouse drawn across one plot zooms them all.
  const plot = document.querySelector('[data-quantity="rtt_ms"]');
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
    check(first > 6.5 && first < 9 && last > 11 && last < 13.5, `a drag from 40 to 60 % of 20 s shows ${first} to ${last} s`);
    const root = document.documentElement;
    check(root.scrollWidth <= root.clientWidth, `the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth} px`);
    check(performance.getEntriesByType("resource").length === 0, "the page loaded something");
    document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
  }, 200);
})();
