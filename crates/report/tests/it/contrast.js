// Added by browser.rs to a report: every text has the contrast that WCAG 2.2 asks of small letters (1.4.3), 4.5 to what is behind it, in the
// colours of a light and of a dark screen.
"use strict";
{
const LEAST = 4.5;
const failures = [];
// [red, green, blue, opacity], each from 0 to 1, of `rgb(0, 0, 0)`, `rgba(0, 0, 0, 0.5)` or `color(srgb 0 0 0 / 0.5)`.
const colour = (text) => {
  const [red, green, blue, opacity = 1] = text.match(/[\d.]+/g).map(Number);
  const whole = text.startsWith("rgb") ? 255 : 1;
  return [red / whole, green / whole, blue / whole, opacity];
};
const over = ([red, green, blue, opacity], below) => [red, green, blue].map((part, at) => opacity * part + (1 - opacity) * below[at]);
const behind = (element) => {
  const own = colour(getComputedStyle(element).backgroundColor);
  return own[3] === 1 ? own.slice(0, 3) : over(own, element.parentElement ? behind(element.parentElement) : [1, 1, 1]);
};
const luminance = (rgb) => {
  const [red, green, blue] = rgb.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
let seen = 0;
const look = (screen) => {
  for (const element of document.querySelectorAll("header *, main *, #bar *, footer *")) {
    if (!hasText(element) || element.getClientRects().length === 0 || element.matches("option, style")) continue;
    const style = getComputedStyle(element);
    const background = behind(element);
    const [dark, light] = [luminance(background), luminance(over(colour(element.matches("svg *") ? style.fill : style.color), background))].sort((a, b) => a - b);
    const contrast = (light + 0.05) / (dark + 0.05);
    seen += 1;
    if (contrast < LEAST) failures.push(`${screen}: ${element.textContent} has ${contrast.toFixed(2)}`);
  }
};
document.querySelector("#summary tbody tr").click(); // its row and cells are marked
look("light");
const [sheet] = document.styleSheets;
const dark = [...sheet.cssRules].find((rule) => rule.conditionText === "(prefers-color-scheme: dark)").cssRules[0].cssText;
sheet.insertRule(dark, sheet.cssRules.length);
document.querySelector("#legend button").click(); // draws again, names of points in the next frame
setTimeout(() => {
  look("dark");
  if (seen < 200) failures.push(`only ${seen} texts were seen`);
  document.body.dataset.selftest = [...new Set([...failures, ...collectedErrors])].slice(0, 9).join("; ") || "passed";
}, 200);
}
