// Added to a report of many schemes by browser.rs: whether each name stands at its point, or is counted as one without room.
"use strict";
{
  const names = [...document.querySelectorAll("#legend button span")].map(({ textContent }) => textContent);
  const texts = [...document.querySelectorAll('[data-slot="scatter"] text')].map(({ textContent }) => textContent);
  // A phone cuts long ones.
  const drawn = texts.filter((text) => /^(\(limit|cubic|bbr|vegas|reminis)/.test(text)).length;
  const counted = texts.map((text) => Number(/^(\d+) names have no room/.exec(text)?.[1] ?? 0)).reduce((sum, count) => sum + count, 0);
  const failures = [];
  if (drawn + counted !== names.length) failures.push(`${drawn} of ${names.length} schemes have a name, and ${counted} are said to have none`);
  if (names.length < 40 && drawn < 3) failures.push(`${drawn} names are drawn`);
  document.body.dataset.selftest = [...failures, ...collectedErrors].join("; ") || "passed";
}
