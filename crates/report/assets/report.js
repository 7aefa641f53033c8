// Draws the figures in the JSON of #data, which are those of figure/mod.rs: nothing is computed here but places on the screen.
"use strict";
// The page is shown first. A tab in the background is not shown, and does not wait for it.
new Promise((shown) => { requestAnimationFrame(shown); setTimeout(shown, 250); }).then(() => setTimeout(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const apart = data.apart ?? []; // traces whose series are in a file of their own, next to the page
  const charts = new Map(); // element -> chart
  const waiting = new Map(); // element -> what draws it
  const rows = data.keys[0] ?? []; // those of the summary
  // `under` holds by condition the place of the value that is shown, null for all; `order` and `sort` a column and a direction.
  const state = { chosen: new Set(), under: [], picks: {}, from: null, to: null, split: false, filter: "", order: null, sort: null, more: false };
  const MOST_TOOLTIP_ROWS = 12;
  const MOST_LABELS = 40; // with more points most labels have no place
  const MOST_ROWS = 20; // of a sweep; of a larger one the first condition is shown at first
  const COLOURS = 10; // more schemes share them, and differ in their marks
  const MOST_LINES = 10; // over time, of several conditions
  const LEFT = 66; // px from the left edge of plots over time to their axis: the same second stands above itself
  const PX_PER_INCH = 140; // of a panel's height on paper
  const LEAST_DRAG_PX = 5; // a shorter one is a click
  const FEW_RUNS = 25; // rows of the table of runs before it is asked for more
  const FOLLOW_MS = 2000; // between two questions for how far the runs are
  const NAMES = { view: "Trace", delay: "Delay", statistic: "Statistic", vertical: "Vertical axis", series: "Trace", cells: "Shown" };

  const byId = (id) => document.getElementById(id);
  const all = (selector, parent = document) => [...parent.querySelectorAll(selector)];
  const create = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  let colours = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    colours = Object.fromEntries(["ink", "quiet", "line", "paper", "capacity"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  };
  const number = (value) => (value == null ? "–" : String(Number(value.toPrecision(4))));
  const escape = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const widestLabel = () => (document.documentElement.clientWidth < 640 ? 110 : 240);
  // Numbers at even steps come as the first, the step and how many there are.
  const numbers = (column) => (Array.isArray(column) ? column : Array.from({ length: column.count }, (_, index) => column.from + index * column.step));
  const pointsOf = (mark) => {
    const y = numbers(mark.y);
    return (mark.points ??= numbers(mark.x).map((x, index) => [x, y[index]]));
  };

  // ---------------------------------------------------------------- what is chosen

  const isChosen = (key) => state.chosen.size === 0 || state.chosen.has(key.group) || !(key.group in data.lines);
  // A row without a value of a condition stands for all values, as those of the limit and of the capacity.
  const isUnder = ({ values = [] }) => values.every((value, at) => value == null || state.under[at] == null || state.under[at] === value);
  const keyOf = (figure, mark) => data.keys[figure.keys][mark.k];
  const labelOf = (figure, mark) => {
    const { label } = keyOf(figure, mark);
    return mark.name ? `${label}: ${mark.name}` : label;
  };
  const varied = data.conditions.map((condition, at) => ({ ...condition, at })).filter(({ values }) => values.length > 1);
  const isPicked = (at) => state.under[at] != null; // its value stands in the picker, and tables need no column of it
  const open = () => varied.filter(({ at }) => !isPicked(at)); // those of which all values are shown
  // The conditions that are shown, each as the values of a row.
  const conditionsShown = () => [...new Map(rows.filter((key) => isUnder(key) && key.values?.some((value) => value != null))
    .map(({ values }) => [values.join(), values])).values()];
  const conditionText = (values, conditions = varied) => conditions.filter(({ at }) => values[at] != null).map(({ key, values: texts, at }) => `${key.split(".").pop()} ${texts[values[at]]}`).join(", ");

  // Where several conditions are shown, colours are schemes and marks are conditions; of one, marks are schemes, too.
  let shown = [];
  const labels = new Set(rows.map(({ label }) => label)); // the moments of a curve have others
  function look(key, isOfOne) {
    const line = data.lines[key.group];
    const place = shown.findIndex((values) => values.join() === key.values?.join());
    if (!line || !key.values || key.colour == null || !labels.has(key.label)) return key;
    if (isOfOne || shown.length < 2 || place < 0) return { ...line, group: key.group };
    const [marker, dash] = data.lines.length > COLOURS + 1 ? [line.marker, line.dash] : [0, 0];
    const marks = data.markers.length - 1; // the last one is the limit's
    return { ...key, marker: (marker + place) % marks, dash: (dash + place) % data.dashes.length, hollow: place % (2 * marks) >= marks };
  }

  function sample({ colour, marker, dash, hollow }) {
    const ink = colour ?? "currentColor";
    const mark = data.markers[marker] ?? ""; // a line alone has none
    return `<svg width="34" height="16" viewBox="0 0 34 16" aria-hidden="true"><path d="M1 8H33" stroke="${ink}" stroke-width="2"
      stroke-dasharray="${data.dashes[dash].join(" ")}"/><path transform="translate(17 8) scale(.55)" d="${mark}" fill="${hollow ? "var(--paper)" : ink}" stroke="${ink}" stroke-width="${hollow ? 4 : 0}"/></svg>`;
  }

  // A click chooses a scheme; where none is chosen, all are.
  function buildLegend() {
    for (const line of data.lines) {
      const button = create("button", { type: "button", title: `${line.label}: only this one, or one more` });
      button.addEventListener("click", () => {
        if (!state.chosen.delete(line.group)) state.chosen.add(line.group);
        drawAll();
      });
      byId("legend").append(button);
    }
  }

  // A picker for each varied condition: all of its values, or one.
  function buildPickers() {
    byId("varied").prepend(...varied.map(({ key, values, at }) => {
      const control = create("label", {}, `${key} `, create("select", { name: key }, new Option("all", ""), ...values.map((text, place) => new Option(text, place))));
      control.addEventListener("change", ({ target }) => {
        state.under[at] = target.value === "" ? null : Number(target.value);
        // Keys that change together do not have all combinations.
        if (!conditionsShown().length) state.under = state.under.map((value, other) => (other === at ? value : null));
        drawAll();
      });
      return control;
    }));
    byId("undo").addEventListener("click", undo);
    addEventListener("keydown", ({ key }) => { if (key === "Escape" && state.chosen.size) undo(); });
    byId("shown").querySelector("button").addEventListener("click", () => { state.under = []; drawAll(); });
  }

  function showChosen() {
    shown = conditionsShown();
    for (const { dataset, elements } of all("[data-controls]")) {
      for (const name of dataset.controls.split(" ")) if (elements[name]) elements[name].value = state.picks[name];
    }
    const several = shown.length > 1;
    all("button", byId("legend")).forEach((button, group) => {
      const { label, ...line } = data.lines[group];
      button.setAttribute("aria-pressed", String(state.chosen.has(group)));
      button.innerHTML = `${sample(several && line.colour && data.lines.length <= COLOURS + 1 ? { ...line, marker: null, dash: 0 } : line)}<span>${escape(label)}</span>`;
    });
    byId("legend").classList.toggle("choosing", state.chosen.size > 0);
    const form = byId("varied");
    for (const { key, at } of varied) form.elements[key].value = state.under[at] ?? "";
    const mark = (values) => {
      const item = create("li");
      item.innerHTML = `${sample({ ...look(rows.find((key) => key.colour && key.values?.join() === values.join()) ?? rows[0]), colour: null })}${escape(conditionText(values, open()))}`;
      return item;
    };
    byId("marks").replaceChildren(...(several ? shown.map(mark) : []));
    byId("undo").hidden = state.chosen.size === 0;
    byId("undo").textContent = `Only ${[...state.chosen].map((group) => data.lines[group].label).join(", ")} ✕`;
    form.hidden = varied.length === 0 && byId("undo").hidden;
    if (state.chosen.size === 0) before = null;
  }

  // Only this row's scheme under its conditions, on this trace where the page has it; undo() shows again what was shown before.
  let before = null;
  function only({ group, values = [] }, trace) {
    before ??= { chosen: state.chosen, under: state.under, picks: { ...state.picks }, place: scrollY };
    state.chosen = new Set([group]);
    state.under = values.map((value, at) => value ?? state.under[at] ?? null);
    for (const name of ["view", "series"]) if (trace != null && hasChoice(name, trace)) choose(name, trace);
    drawAll();
  }

  function undo() {
    const { place, ...rest } = before ?? { chosen: new Set() };
    Object.assign(state, rest);
    drawAll();
    if (place != null) scrollTo(0, place);
  }

  // A control for each thing that figures differ in, in the order of the figures.
  function buildControls() {
    for (const form of all("[data-controls]")) {
      const controls = form.dataset.controls.split(" ").map((name) => {
        const choices = [...new Set([...data.figures.map(({ pick }) => pick[name]), ...(name === "series" ? apart : [])])].filter(Boolean);
        if (choices.length) state.picks[name] ??= choices[0];
        const control = choices.length > 3 || name === "view" || name === "series" ? select(name, choices) : radios(name, choices);
        control.addEventListener("change", (event) => { choose(name, event.target.value); drawAll(); });
        control.hidden = choices.length < 2;
        return control;
      });
      form.prepend(...controls);
      form.addEventListener("submit", (event) => event.preventDefault());
    }
  }

  const select = (name, choices) => create("label", {}, `${NAMES[name]} `, create("select", { name }, ...choices.map((text) => new Option(text, text))));
  const radios = (name, choices) => create("fieldset", {}, create("legend", {}, NAMES[name]), ...choices.map((text) => {
    const input = create("input", { type: "radio", name, value: text });
    return create("label", {}, input, create("span", {}, text.toLowerCase().replace("rtt", "RTT")));
  }));

  function choose(name, choice) {
    state.picks[name] = choice;
    if (name === "series") [state.from, state.to] = [null, null];
  }

  const hasChoice = (name, choice) => data.figures.some(({ pick }) => pick[name] === choice) || (name === "series" && apart.includes(choice));

  const figuresOf = (slot) => data.figures.filter((figure) => figure.slot === slot
    && Object.entries(figure.pick).every(([name, choice]) => state.picks[name] === choice)).map(arranged);

  // A heat map has a table for each condition that is shown, and distributions a plot; over time there may be one for each scheme.
  const arrangements = new Map(); // figure -> for which state it was arranged, and how
  function arranged(figure) {
    const arrange = {
      heat: byCondition,
      cdf: shown.length > 1 && plotPerCondition,
      time: state.split ? byScheme : isTangle(figure) && firstCondition,
    }[figure.slot];
    if (!arrange) return figure;
    const of = JSON.stringify([shown, [...state.chosen], state.split]);
    if (arrangements.get(figure)?.of !== of) arrangements.set(figure, { of, figure: { ...figure, ...arrange(figure) } });
    return arrangements.get(figure).figure;
  }

  const isOf = (values) => (key) => key.values?.every((value, at) => value == null || value === values[at]) ?? true;

  function byCondition({ panels: [{ x, marks: [mark], ...panel }] }) {
    const parts = shown.length ? shown : [[]];
    return { panels: parts.map((values) => {
      const columns = [...rows.keys()].filter((at) => isOf(values)(rows[at]));
      const inside = pointsOf(mark).map(([across, up], index) => [columns.indexOf(across), up, mark.c[index]]).filter(([across]) => across >= 0);
      const [across, up, cells] = [0, 1, 2].map((part) => inside.map((cell) => cell[part]));
      const title = values.length && varied.length ? conditionText(values) : "";
      return { ...panel, title, columns, x: { ...x, ticks: columns.map((at, place) => [place, data.lines[rows[at].group].label]) }, marks: [{ ...mark, x: across, y: up, c: cells, points: null }] };
    }) };
  }

  function plotPerCondition(figure) {
    const [panel] = figure.panels;
    return { columns: Math.min(shown.length, 3), panels: shown.map((values) => ({ ...panel, title: conditionText(values, open()), y: { ...panel.y, title: panel.y.title.split(",")[0] }, isOfOne: true, marks: panel.marks.filter((mark) => isOf(values)(keyOf(figure, mark))) })) };
  }

  // Over time the lines of several conditions lie on each other: beyond ten, the first condition is shown.
  const isTangle = (figure) => shown.length > 1 && figure.panels.some(({ marks }) => marks.filter((mark) => mark.s !== "area" && isChosen(keyOf(figure, mark)) && isUnder(keyOf(figure, mark))).length > MOST_LINES);
  const firstCondition = (figure) => ({ panels: figure.panels.map((panel) => ({ ...panel, isOfFirst: true, marks: panel.marks.filter((mark) => isOf(shown[0])(keyOf(figure, mark))) })) });

  function byScheme(figure) {
    const groups = [...new Set(figure.panels.flatMap(({ marks }) => marks.map((mark) => keyOf(figure, mark))).filter((key) => key.group in data.lines && isChosen(key)).map(({ group }) => group))];
    const part = (panel) => (group) => ({ ...panel, title: data.lines[group].label, marks: panel.marks.filter((mark) => [group, undefined].includes(data.lines[keyOf(figure, mark).group]?.group)) });
    return { columns: Math.min(groups.length, 3), panels: figure.panels.flatMap((panel) => groups.map(part(panel))) };
  }

  // ---------------------------------------------------------------- places of the page

  function drawSlot(slot) {
    const figures = figuresOf(slot.dataset.slot);
    const shape = figures.map(({ title, panels }) => [title, ...panels.map((panel) => panel.title)].join()).join("\n");
    if (slot.shape !== shape) {
      for (const element of all(".chart, figure", slot)) {
        charts.get(element)?.dispose();
        charts.delete(element);
        waiting.delete(element);
      }
      slot.replaceChildren(...figures.map((figure) => frame(slot, figure)));
      slot.shape = shape;
    }
    figures.forEach((figure, index) => {
      const outer = slot.children[index];
      const isOfChosen = (mark) => isChosen(keyOf(figure, mark)) && isUnder(keyOf(figure, mark));
      outer.hidden = "folded" in slot.dataset && !figure.panels.some(({ marks }) => marks.some(isOfChosen));
      all(".chart", outer).forEach((element, panel) => waiting.set(element, () => drawPanel(element, figure, figure.panels[panel])));
      if (isOfCells(figure)) waiting.set(outer, () => all("table", outer).forEach((table, panel) => drawCells(table, figure.panels[panel])));
    });
    slot.hidden = [...slot.children].every((child) => child.hidden);
    slot.headings ??= all(`[data-for="${slot.dataset.slot}"], [data-with="${slot.dataset.slot}"]`);
    for (const heading of slot.headings) heading.hidden = slot.hidden;
  }

  // What is in the window is drawn at once, what is near it one by one, and the rest when it comes near: twenty schemes are
  // thousands of lines.
  const drawThese = (elements) => elements.forEach((element) => {
    const draw = waiting.get(element);
    waiting.delete(element);
    draw?.();
  });
  let timer = null;
  function drawNear() {
    // Each place is asked for once, before anything is drawn: after a change of the page its layout is made anew for the answer.
    const places = [...waiting.keys()].map((element) => [element, element.getBoundingClientRect()]);
    const within = (heights) => places.filter(([, { top, bottom, height }]) =>
      height > 0 && bottom > -heights * innerHeight && top < (1 + heights) * innerHeight).map(([element]) => element);
    const near = within(1);
    drawThese(within(0));
    clearTimeout(timer);
    const drawNext = () => {
      drawThese(near.splice(0, 1));
      if (near.length) timer = setTimeout(drawNext);
    };
    timer = setTimeout(drawNext);
  }

  const isOfCells = (figure) => figure.panels[0]?.marks[0]?.c != null;

  function frame(slot, figure) {
    if (isOfCells(figure)) return create("figure", { class: "scroll maps", tabindex: 0 }, ...figure.panels.map(() => create("table", { class: "cells" })));
    const plots = figure.panels.map((panel) => create("div", { class: "chart", role: "img", "data-title": panel.y.title,
      "aria-label": `${figure.title}${panel.title ? `, ${panel.title}` : ""}: ${panel.y.title} over ${panel.x.title}`, style: `height:${Math.round(panel.inches * PX_PER_INCH)}px` }));
    const outer = create("figure", {}, create("div", { class: "plots", style: `--columns:${figure.columns || 1}` }, ...plots));
    outer.append(saving(slot, outer));
    if ("folded" in slot.dataset) {
      const details = create("details", {}, create("summary", {}, figure.title), outer);
      return details;
    }
    if ("titled" in slot.dataset) outer.prepend(create("h3", {}, figure.title));
    return outer;
  }

  // Buttons that save what is shown: the drawing, and its numbers.
  function saving(slot, outer) {
    const shown = () => figuresOf(slot.dataset.slot)[[...slot.children].findIndex((child) => child.contains(outer))];
    const button = (text, name, kind, content) => {
      const element = create("button", { type: "button", "aria-label": `Save as ${text}` }, text);
      element.addEventListener("click", () => {
        const link = create("a", { href: URL.createObjectURL(new Blob([content()], { type: kind })), download: name });
        link.click();
        URL.revokeObjectURL(link.href);
      });
      return element;
    };
    const name = slot.dataset.slot;
    return create("p", { class: "save" }, "Save: ", button("SVG", `${name}.svg`, "image/svg+xml", () => drawing(outer)),
      button("CSV", `${name}.csv`, "text/csv", () => numbersOf(shown())));
  }

  // All panels of a figure as one drawing, one below the other.
  function drawing(outer) {
    drawThese(all(".chart", outer));
    const panels = all(".chart", outer).map((element) => charts.get(element));
    const width = Math.max(...panels.map((chart) => chart.getWidth()));
    let height = 0;
    const parts = panels.map((chart) => {
      const part = chart.renderToSVGString().replace("<svg", `<svg y="${height}"`);
      height += chart.getHeight();
      return part;
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${parts.join("")}</svg>`;
  }

  function numbersOf(figure) {
    const quoted = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const lines = figure.panels.flatMap((panel) => panel.marks.filter((mark) => isUnder(keyOf(figure, mark))).flatMap((mark) => pointsOf(mark).map(([x, y]) =>
      [panel.title ?? "", labelOf(figure, mark), panel.x.title, x, panel.y.title, valueOn(panel.y, y)].map(quoted).join(","))));
    return `panel,name,x_is,x,y_is,y\n${lines.join("\n")}\n`;
  }

  // ---------------------------------------------------------------- a panel

  // A distribution's shares come as their nines: 1 is 90 %, 2 is 99 %.
  const valueOn = ({ scale }, value) => (scale === "tail" ? 1 - 10 ** -value : value);
  // By logarithms, values below the axis stand at its end; the third number is the value itself.
  const places = ({ y }, mark) => (y.scale === "log" ? pointsOf(mark).map(([x, value]) => [x, value == null ? null : Math.max(value, y.from), value]) : pointsOf(mark));

  function axis({ title, scale, from, to, leftwards, ticks }, isVertical, fitsChosen) {
    const { ink, quiet, line } = colours;
    const values = ticks?.map(([value]) => value);
    const texts = new Map(ticks);
    const time = scale === "time";
    const custom = values ? { customValues: values } : {};
    return {
      type: scale === "log" ? "log" : "value", inverse: leftwards, min: time ? state.from ?? from : from, max: time ? state.to ?? to : fitsChosen ? null : to,
      name: isVertical ? "" : title, nameLocation: "middle", nameGap: 30, nameTextStyle: { color: quiet, fontSize: 13 }, position: isVertical ? "left" : undefined,
      axisLine: { show: true, onZero: false, lineStyle: { color: quiet } },
      axisTick: { show: true, lineStyle: { color: quiet }, ...custom },
      axisLabel: { color: ink, fontSize: 12, hideOverlap: true, formatter: (value) => texts.get(value) ?? number(value), ...custom, ...(isVertical && !values ? { showMinLabel: from === 0, showMaxLabel: false } : {}) },
      splitLine: { show: !time, lineStyle: { color: line, width: 1 }, ...custom },
      splitNumber: isVertical ? 4 : 6,
      minorTick: { show: false },
    };
  }

  function seriesOf(figure, panel, mark) {
    const { ink, line: faint, capacity, paper } = colours;
    const key = look(keyOf(figure, mark), panel.isOfOne);
    const chosen = isChosen(key);
    if (!isUnder(keyOf(figure, mark)) || (!chosen && panel.x.scale === "time")) return [];
    const colour = chosen ? key.colour ?? ink : faint;
    const common = { name: labelOf(figure, mark), color: colour, data: places(panel, mark), z: chosen ? 3 : 2, emphasis: { disabled: true }, key };
    const marker = { symbol: `path://${data.markers[key.marker]}`, symbolKeepAspect: true };
    const line = { ...common, type: "line", showSymbol: false, triggerLineEvent: true, lineStyle: { color: colour, width: chosen ? 1.8 : 1, type: data.dashes[key.dash].length ? data.dashes[key.dash] : "solid" }, step: panel.x.scale === "time" && panel.y.ticks ? "end" : false };
    switch (mark.s) {
      case "points": {
        const bars = (mark.i ?? []).flatMap(([across, along], index) => {
          const [x, y] = pointsOf(mark)[index];
          return [...(across ? [[across[0], y], [across[1], y], [null, null]] : []), ...(along ? [[x, along[0]], [x, along[1]], [null, null]] : [])];
        });
        const interval = { type: "line", data: bars, silent: true, showSymbol: false, color: colour, lineStyle: { color: colour, width: 1.2 }, z: common.z, tooltip: { show: false } };
        return [{ ...common, ...marker, type: "scatter", symbolSize: key.colour ? 14 : 18, itemStyle: { opacity: 1, color: key.hollow ? paper : colour, borderColor: colour, borderWidth: key.hollow ? 2 : 0 }, mark }, ...(bars.length && chosen ? [interval] : [])];
      }
      case "path": return [{ ...line, ...marker, showSymbol: true, symbolSize: 9, triggerLineEvent: false, lineStyle: { ...line.lineStyle, type: "solid" } }];
      case "dashed": return [{ ...line, lineStyle: { ...line.lineStyle, type: [6, 4] } }];
      case "area": return [{ ...common, type: "line", showSymbol: false, silent: true, color: capacity, z: 0, lineStyle: { width: 0 }, areaStyle: { color: capacity, opacity: 0.75 } }];
      case "dots": return [{ ...common, type: "scatter", symbolSize: 4 }];
      default: return [line];
    }
  }

  function drawPanel(element, figure, panel) {
    const isNew = !charts.has(element);
    const chart = charts.get(element) ?? echarts.init(element, null, { renderer: "svg" });
    charts.set(element, chart);
    const { ink, paper, line, quiet } = colours;
    const together = panel.x.scale === "time" || panel.marks.some(({ s }) => s === "path");
    const area = panel.marks.find(({ s }) => s === "area");
    const overTime = panel.x.scale === "time";
    const title = `${panel.title ? `${panel.title}: ` : ""}${panel.y.title}${area ? ` (shaded: ${labelOf(figure, area)})` : ""}`;
    const series = panel.marks.flatMap((mark) => seriesOf(figure, panel, mark));
    chart.setOption({
      animation: false, textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
      title: { text: title, left: 0, top: 0, textStyle: { fontSize: 13, fontWeight: 600, color: ink, width: chart.getWidth(), overflow: "truncate" } },
      grid: { left: overTime ? LEFT : 4, right: 24, top: 34, bottom: 46, ...(overTime ? { outerBoundsMode: "none" } : { outerBoundsMode: "same", outerBoundsContain: "axisLabel" }) },
      xAxis: axis(panel.x, false), series,
      // Over time only what is chosen is drawn: the axis fits it, unless there are several to compare.
      yAxis: axis(panel.y, true, overTime && !panel.y.ticks && !state.split && (panel.isOfFirst || state.chosen.size > 0 || state.under.some((value) => value != null))),
      tooltip: { confine: true, backgroundColor: paper, borderColor: line, textStyle: { color: ink, fontSize: 12 }, transitionDuration: 0,
        trigger: together ? "axis" : "item", axisPointer: { type: "line", lineStyle: { color: quiet } },
        formatter: together ? (items) => describeAll(panel, items, series) : (item) => describe(panel, item, series[item.seriesIndex].mark) },
    }, { notMerge: true });
    drawLabels(element, chart, figure, panel);
    scalable(element, chart);
    if (isNew && overTime) {
      chart.group = "time"; // tooltips of all charts of a group move together
      zoomByDrag(element, chart);
    }
  }

  // A heat map is a table: it can be read aloud, and scrolls.
  function drawCells(table, panel) {
    if (table.shown !== panel) fillCells(table, panel);
    for (const cell of all("tbody td", table)) cell.classList.toggle("marked", cell.key != null && state.picks.view === cell.trace && state.chosen.has(cell.key.group));
  }

  function fillCells(table, panel) {
    table.shown = panel;
    const { x, y, columns, marks: [mark] } = panel;
    const heading = ([, text], scope) => create("th", { scope }, create("span", {}, text));
    const head = create("tr", {}, create("td"), ...x.ticks.map((tick) => heading(tick, "col")));
    const lines = y.ticks.map((tick) => create("tr", {}, heading(tick, "row"), ...x.ticks.map(() => create("td"))));
    pointsOf(mark).forEach(([across, up], index) => {
      const [shade, text] = mark.c[index];
      const cell = lines[up].children[across + 1];
      cell.textContent = text;
      const [colour, share] = mark.s === "cells" ? ["focus", shade] : [shade < 0 ? "focus" : "worse", Math.abs(shade)];
      cell.style.background = `color-mix(in srgb, var(--${colour}) ${Math.round(share * 50)}%, transparent)`;
      if (mark.s !== "cells") cell.classList.toggle("best", shade === -1 && rows[columns[across]].colour != null);
      cell.tabIndex = -1;
      if (!columns) return;
      Object.assign(cell, { key: rows[columns[across]], trace: y.ticks[up][1] });
      cell.addEventListener("click", () => { only(cell.key, cell.trace); byId("over-time").scrollIntoView(); });
    });
    const title = columns ? panel.title : `${panel.title}, ${y.title} over ${x.title}`;
    const caption = panel.title ? [create("caption", {}, title)] : [];
    table.replaceChildren(...caption, create("thead", {}, head), create("tbody", {}, ...lines.reverse()));
    lines[0].cells[1].tabIndex = 0; // the keyboard enters here, and moves by arrows
    table.onkeydown = (event) => {
      const { key, target } = event;
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
      if (key === "Enter") target.click();
      if (!step) return;
      event.preventDefault();
      lines[target.parentElement.sectionRowIndex + step[1]]?.cells[target.cellIndex + step[0]]?.focus();
    };
  }

  // On paper the style sheet fits a figure to the page, which a drawing without a view box refuses.
  function scalable(element, chart) {
    element.querySelector("svg").setAttribute("viewBox", `0 0 ${chart.getWidth()} ${chart.getHeight()}`);
  }

  function describe({ x, y }, { seriesName, value }, mark) {
    const between = (interval) => (interval ? ` (${interval.map(number).join(" to ")})` : "");
    const [across, along] = mark?.i?.[0] ?? [];
    return `<b>${escape(seriesName)}</b><br>${escape(y.title)}: ${number(valueOn(y, value[2] ?? value[1]))}${between(along)}<br>${escape(x.title)}: ${number(value[0])}${between(across)}`;
  }

  function describeAll({ x }, items, series) {
    const known = items.filter(({ value }) => value[1] != null);
    const lines = known.slice(0, MOST_TOOLTIP_ROWS).map(({ seriesIndex, seriesName, value }) => `${sample(series[seriesIndex].key)} ${escape(seriesName)} <b>${number(value[2] ?? value[1])}</b>`);
    if (known.length > lines.length) lines.push(`and ${known.length - lines.length} more`);
    const at = items[0].value[0];
    return `${escape(x.title)}: ${escape(new Map(x.ticks).get(at) ?? number(at))}<br>${lines.join("<br>")}`;
  }

  // The names of points: beside the point where there is room, else further away with a line to it. Where several conditions are
  // shown, the legends name colours and marks.
  function drawLabels(element, chart, figure, panel) {
    const surface = chart.getZr();
    for (const shape of element.labels ?? []) surface.remove(shape);
    element.labels = [];
    const points = panel.marks.filter((mark) => mark.s === "points" && isUnder(keyOf(figure, mark)));
    const chosen = points.filter((mark) => isChosen(keyOf(figure, mark)) && labels.has(keyOf(figure, mark).label));
    if (!chosen.length || shown.length > 1) return;
    const [HALF, GAP] = [9, 14];
    const { x: left, y: top, width, height } = chart.getModel().getComponent("grid", 0).coordinateSystem.getRect();
    const isInside = (a) => a.left >= left - 2 && a.right <= left + width + 20 && a.top >= top - GAP && a.bottom <= top + height;
    const isApart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
    const centres = new Map(points.map((mark) => [mark, chart.convertToPixel({ gridIndex: 0 }, pointsOf(mark)[0])]));
    const taken = [...centres].map(([mark, [x, y]]) => ({ mark, left: x - HALF, right: x + HALF, top: y - HALF, bottom: y + HALF }));
    const add = (shape) => { element.labels.push(shape); surface.add(shape); };
    const { ink, quiet, paper } = colours;
    for (const mark of chosen.length > MOST_LABELS ? [] : chosen) {
      const { label } = shown.length ? data.lines[keyOf(figure, mark).group] ?? keyOf(figure, mark) : keyOf(figure, mark);
      const text = new echarts.graphic.Text({ silent: true, z: 10, style: { text: label, fill: ink, fontSize: 12, fontFamily: getComputedStyle(document.body).fontFamily, backgroundColor: paper, padding: [0, 2],
        ...(label.length * 7 > widestLabel() ? { width: widestLabel(), overflow: "truncate" } : {}) } });
      // Letters may be wider and higher than the library knows.
      const measured = text.getBoundingRect();
      const [wide, high] = [measured.width + 8, measured.height + 6];
      const [x, y] = centres.get(mark);
      const box = (across, down) => ({ mark, left: x + across - wide / 2, right: x + across + wide / 2, top: y + down - high / 2, bottom: y + down + high / 2 });
      const beside = [[GAP + wide / 2, 0], [-GAP - wide / 2, 0], [0, -GAP - high / 2], [0, GAP + high / 2]];
      const rings = [36, 60, 84, 108, 132, 156].flatMap((far) => Array.from({ length: 16 }, (_, turn) => [Math.sin(turn * Math.PI / 8) * (far + wide / 2), -Math.cos(turn * Math.PI / 8) * far]));
      const isFree = (a) => isInside(a) && taken.every((b) => (b.mark === mark && !b.isLabel) || isApart(a, b));
      const found = [...beside, ...rings].map((place) => box(...place)).find(isFree);
      if (!found) continue;
      taken.push({ ...found, isLabel: true });
      text.attr({ x: found.left + 4, y: found.top + 3 });
      const to = [Math.min(Math.max(x, found.left), found.right), Math.min(Math.max(y, found.top), found.bottom)];
      if (Math.hypot(to[0] - x, to[1] - y) > GAP + 6) add(new echarts.graphic.Line({ silent: true, z: 9, shape: { x1: x, y1: y, x2: to[0], y2: to[1] }, style: { stroke: quiet, lineWidth: 1 } }));
      add(text);
    }
    const missing = chosen.length - element.labels.filter(({ type }) => type === "text").length;
    if (missing) add(new echarts.graphic.Text({ silent: true, z: 10, style: { text: `${missing} names have no room: point at the marks`, fill: quiet, fontSize: 11, x: left + 4, y: top + height - 16 } }));
  }

  // ---------------------------------------------------------------- over time

  const wholeRun = () => Math.max(0, ...figuresOf("time").flatMap(({ panels }) => panels.map(({ x }) => x.to)));

  // A mouse or pen draws the span of time to see; a finger scrolls the page and has the fields above.
  function zoomByDrag(element, chart) {
    const band = create("div", { class: "band" });
    element.append(band);
    let start = null;
    const seconds = (x) => chart.convertFromPixel({ xAxisIndex: 0 }, x);
    const at = (event) => event.clientX - element.getBoundingClientRect().left;
    element.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.pointerType !== "touch") start = at(event);
    });
    addEventListener("pointermove", (event) => {
      if (start == null) return;
      band.style.left = `${Math.min(start, at(event))}px`;
      band.style.width = `${Math.abs(at(event) - start)}px`;
    });
    addEventListener("pointerup", (event) => {
      if (start == null) return;
      const [first, last] = [start, at(event)].sort((one, other) => one - other);
      start = null;
      band.style.width = "0";
      if (last - first > LEAST_DRAG_PX) zoom(seconds(first), seconds(last));
    });
    element.addEventListener("dblclick", () => zoom(null, null));
  }

  function zoom(from, to) {
    state.from = from == null ? null : Math.max(0, Number(from.toPrecision(4)));
    state.to = to == null ? null : Math.min(wholeRun(), Number(to.toPrecision(4)));
    drawAll();
  }

  function showZoom() {
    const isFirst = !state.split && data.figures.some((figure) => figure.slot === "time" && figure.pick.series === state.picks.series && isTangle(figure));
    byId("first").textContent = isFirst ? `Only ${conditionText(shown[0], open())} is drawn: the lines of all conditions would cover each other. To see others, choose a condition or a scheme above.` : "";
    const { from, to, split } = byId("time-controls").elements;
    split.checked = state.split;
    [from.value, to.value] = [state.from ?? 0, state.to ?? number(wholeRun())];
  }

  // ---------------------------------------------------------------- files next to the page

  // A page that is opened from a disk may not read files, but may load scripts of the same folder: they call cellccPart.
  const load = (name) => new Promise((resolve, reject) => {
    const script = create("script", { src: name });
    script.addEventListener("load", () => { script.remove(); resolve(); });
    script.addEventListener("error", reject);
    document.head.append(script);
  });

  // `cellcc view` serves the page while runs go on, with the words that say how far they are. When these change there is more
  // to show.
  function follow() {
    load("progress.js").catch(() => { byId("progress").textContent += "; `cellcc view` has ended"; });
  }

  let sheets = null; // by trace, the figures as text
  let loading = null;
  globalThis.cellccPart = ({ info, series, progress }) => {
    if (info) describeRun(info);
    if (series) sheets = series;
    if (progress && progress.words !== byId("progress").textContent) location.reload();
    else if (progress?.is_running) setTimeout(follow, FOLLOW_MS);
  };

  function describeRun({ started, command, host, jobs, wall_time_s }) {
    const words = command.map((word) => (/^[\w./=:,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
    byId("made").append(` · ${started} · ${host.os} ${host.arch}, ${jobs} of ${host.cpus} CPUs · ${number(wall_time_s)} s · `, create("code", {}, words.join(" ")));
  }

  // Fetches the series of the chosen trace, where they are not in the page, and draws again.
  function fetchSeries() {
    const trace = state.picks.series;
    if (!apart.includes(trace) || data.figures.some(({ pick }) => pick.series === trace)) return;
    loading ??= load("report-series.js");
    loading.then(() => {
      const { keys, figures } = JSON.parse(sheets[trace]);
      data.figures.push(...figures.map((figure) => ({ ...figure, keys: figure.keys + data.keys.length })));
      data.keys.push(...keys);
      drawAll();
    }).catch(() => { byId("missing").textContent = "The series of this trace are in report-series.js, which is not next to this page."; });
  }

  // ---------------------------------------------------------------- the tables

  const { compare } = new Intl.Collator("en", { numeric: true });
  const order = (one, other) => (typeof one === "string" ? compare(one, other) : one - other);
  // Rows as [values, row] by a column; missing values last, whichever way.
  const sortBy = (list, [by, direction]) => list.sort(([one], [other]) => (one[by] == null) - (other[by] == null) || direction * order(one[by], other[by]));
  const number3 = (text) => (text === "–" ? null : Number(text));

  // The heading of each cell, for a narrow window that has a card for each row.
  function labelCells(table) {
    const title = ({ firstChild, lastElementChild }) => `${firstChild.textContent} ${lastElementChild?.textContent ?? ""}`.trim();
    const titles = all("thead th", table).map(title);
    for (const row of all("tbody tr", table)) [...row.cells].forEach((cell, at) => { cell.dataset.label = titles[at]; });
  }

  let summary = []; // its rows, each with its key and its values
  function buildSummary() {
    const table = byId("summary").querySelector("table");
    const heads = all("thead th", table);
    const names = heads.length - data.better.length; // columns of the scheme and the conditions
    heads.forEach((head, at) => {
      const button = create("button", { type: "button" }, ...head.childNodes);
      button.addEventListener("click", () => {
        const first = data.better[at - names] === "more" ? -1 : 1;
        state.order = [at, state.order?.[0] === at ? -state.order[1] : first];
        drawSummary();
        writeAddress();
      });
      head.replaceChildren(button);
    });
    summary = all("tbody tr", table).map((row, at) => {
      const key = rows[at];
      const [title, ...cells] = row.cells;
      const button = create("button", { type: "button", class: "row" }, ...title.childNodes);
      button.insertAdjacentHTML("afterbegin", sample(key));
      title.replaceChildren(button);
      row.addEventListener("click", () => {
        only(key);
        byId("figures").scrollIntoView();
      });
      const texts = cells.map((cell) => cell.firstChild.textContent);
      return { row, key, cells: cells.slice(names - 1), values: [key.label, ...texts.slice(0, names - 1), ...texts.slice(names - 1).map(number3)] };
    });
  }

  // Rows of the shown conditions; the best value of each condition is marked, with all that read the same.
  function drawSummary() {
    const table = byId("summary").querySelector("table");
    const isLimit = ({ row }) => row.classList.contains("limit");
    const visible = summary.filter(({ key }) => isUnder(key));
    const sorted = state.order ? sortBy(visible.map((line) => [line.values, line]), state.order).map(([, line]) => line) : visible;
    table.tBodies[0].append(...[...summary.filter((line) => !visible.includes(line)), ...sorted.filter((line) => !isLimit(line)), ...sorted.filter(isLimit)].map(({ row }) => row));
    all("thead th", table).forEach((head, at) => {
      if (state.order?.[0] === at) head.setAttribute("aria-sort", state.order[1] > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    // By condition and column, the worths of schemes: where all are the same, none is the best.
    const worths = new Map();
    const place = ({ key }, at) => `${key.values?.join()} ${at}`;
    const worth = ({ values }, at) => {
      const value = values.at(at - data.better.length);
      return value == null || !data.better[at] ? null : data.better[at] === "more" ? value : -value;
    };
    for (const line of visible.filter((line) => !isLimit(line))) {
      data.better.forEach((_, at) => worths.set(place(line, at), (worths.get(place(line, at)) ?? new Set()).add(worth(line, at) ?? -Infinity)));
    }
    const isBest = (line, at) => {
      const all = worths.get(place(line, at));
      return !isLimit(line) && all?.size > 1 && worth(line, at) === Math.max(...all);
    };
    for (const line of summary) {
      line.row.hidden = !visible.includes(line);
      line.row.classList.toggle("marked", state.chosen.has(line.key.group));
      line.row.querySelector("svg").outerHTML = sample(look(line.key));
      line.cells.forEach((cell, at) => cell.classList.toggle("best", isBest(line, at)));
    }
    for (const { cells } of table.rows) varied.forEach(({ at }) => { cells[at + 1].hidden = isPicked(at); });
    byId("shown").hidden = visible.length === summary.length;
    byId("shown").querySelector("output").textContent = `${visible.length} of ${summary.length} rows.`;
  }

  function drawRuns() {
    const { columns, rows: runs } = data.runs;
    const headings = ["Scheme", ...data.conditions.map(({ key }) => key), "Trace", "Seed", ...columns];
    const names = headings.length - columns.length; // columns before those of metrics
    const values = ([at, trace, seed, numbers]) => [data.lines[rows[at].group].label, ...data.conditions.map((condition, index) => condition.values[rows[at].values[index]] ?? "–"), trace, seed, ...numbers];
    state.sort ??= [Math.max(names - 1, headings.findIndex((text) => text.startsWith("95th"))), -1];
    const [by, direction] = state.sort;
    const words = state.filter.toLowerCase().split(" ");
    const found = runs.filter(([at]) => isUnder(rows[at]) && (state.chosen.size === 0 || state.chosen.has(rows[at].group))).map((run) => [values(run), run]);
    const sorted = sortBy(found.filter(([cells]) => words.every((word) => cells.slice(0, names).join(" ").toLowerCase().includes(word))), state.sort);
    const visible = sorted.slice(0, state.more ? sorted.length : FEW_RUNS);
    const button = (text) => `<button type="button">${escape(text)}</button>`;
    const hidden = (column) => (isPicked(column - 1) ? " hidden" : "");
    const head = headings.map((text, index) => {
      const sort = index === by ? ` aria-sort="${direction > 0 ? "ascending" : "descending"}"` : "";
      return `<th scope="col"${sort}${hidden(index)}>${button(text)}</th>`;
    });
    const cell = (value, at) => `<td data-label="${escape(headings[at + 1])}"${hidden(at + 1)}>${typeof value === "string" ? escape(value) : number(value)}</td>`;
    const body = visible.map(([[label, ...cells]]) => `<tr><th scope="row">${button(label)}</th>${cells.map(cell).join("")}</tr>`);
    const section = byId("runs");
    const table = section.querySelector("table");
    table.innerHTML = `<thead><tr>${head.join("")}</tr></thead><tbody>${body.join("")}</tbody>`;
    table.onclick = ({ target }) => {
      const { scope, cellIndex, parentElement } = target.closest("button")?.parentElement ?? {};
      if (scope === "row") {
        const [, [at, trace]] = visible[parentElement.sectionRowIndex];
        only(rows[at], trace);
        byId("over-time").scrollIntoView();
      } else if (scope === "col") {
        state.sort = [cellIndex, cellIndex === by ? -direction : cellIndex < names - 1 ? 1 : -1];
        drawRuns();
        writeAddress();
        all("thead button", table)[cellIndex].focus({ preventScroll: true });
      }
    };
    section.querySelector("output").textContent = `${sorted.length} of ${runs.length} runs`;
    section.querySelector("[name=more]").hidden = visible.length === sorted.length;
  }

  // ---------------------------------------------------------------- the address

  // What is chosen stands behind the # of the address, so that a link shows the same. A frame of a notebook has no address.
  function writeAddress() {
    if (location.protocol === "about:") return;
    const { chosen, under, picks, from, to, split, filter, order, sort } = state;
    const words = new URLSearchParams({ ...picks, ...(filter && { filter }), ...(from != null && { from }), ...(to != null && { to }), ...(split && { split }), ...(order && { order }), sort: sort.join(",") });
    for (const { key, values, at } of varied) words.append(key, under[at] == null ? "all" : values[under[at]]);
    for (const group of chosen) words.append("only", data.lines[group].label);
    history.replaceState(history.state, "", `#${words}`);
  }

  function readAddress() {
    const words = new URLSearchParams(location.hash.slice(1));
    const isLarge = rows.length > MOST_ROWS;
    for (const { key, values, at } of varied) {
      const place = values.indexOf(words.get(key));
      state.under[at] = place >= 0 ? place : isLarge && words.get(key) !== "all" ? 0 : null;
    }
    state.split = words.has("split");
    for (const [name, choice] of words) {
      if (hasChoice(name, choice)) state.picks[name] = choice;
      if (name === "from" || name === "to") state[name] = Number(choice) || 0;
      if (name === "filter") state.filter = choice;
    }
    const chosen = words.getAll("only").map((label) => data.lines.findIndex((line) => line.label === label));
    state.chosen = new Set(chosen.filter((group) => group >= 0));
    for (const [name, columns] of [["sort", data.runs.columns.length + 3 + data.conditions.length], ["order", all("#summary thead th").length]]) {
      const pair = words.get(name)?.split(",").map(Number);
      if (pair?.length === 2 && pair[0] < columns) state[name] = pair;
    }
  }

  // ---------------------------------------------------------------- the page

  function drawAll() {
    readColours();
    showChosen();
    drawSummary();
    drawRuns();
    writeAddress();
    showZoom();
    all("[data-slot]").forEach(drawSlot);
    drawNear();
    fetchSeries();
  }

  function start() {
    if (data.apart) load("run-info.js").catch(() => {});
    if (byId("progress").textContent) follow();
    if (data.figures.length === 0) return;
    readAddress();
    buildLegend();
    buildPickers();
    all(".cards table:has(tbody)").forEach(labelCells);
    buildSummary();
    buildControls();
    const { from, to, whole, split } = byId("time-controls").elements;
    split.addEventListener("change", () => { state.split = split.checked; drawAll(); });
    for (const field of [from, to]) field.addEventListener("change", () => zoom(Number(from.value) || 0, Number(to.value) || wholeRun()));
    whole.addEventListener("click", () => zoom(null, null));
    const filter = byId("runs").querySelector("[name=filter]");
    filter.value = state.filter;
    filter.form.addEventListener("submit", (event) => event.preventDefault());
    filter.addEventListener("input", () => { state.filter = filter.value; drawRuns(); writeAddress(); });
    byId("runs").querySelector("[name=more]").addEventListener("click", () => { state.more = true; drawRuns(); });
    drawAll();
    // Read again, the page is where it was.
    history.scrollRestoration = "manual";
    scrollTo(0, history.state ?? 0);
    addEventListener("scrollend", () => history.replaceState(scrollY, ""));
    echarts.connect("time");
    addEventListener("scroll", drawNear, { passive: true });
    addEventListener("beforeprint", () => drawThese([...waiting.keys()].filter((element) => element.offsetHeight > 0)));
    let width = innerWidth; // a phone's bars change the height
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      charts.forEach((chart) => chart.resize());
      drawAll();
    });
    new ResizeObserver(drawNear).observe(document.body); // what is laid out anew may move others into the window
    // Other colours; paper has those of a light screen.
    for (const query of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(query).addEventListener("change", () => {
        drawAll();
        charts.forEach((chart) => chart.getZr().flush()); // paper does not wait for the next frame, which has the labels
      });
    }
  }

  document.head.append(create("script", {}, byId("echarts").textContent)); // the library that draws
  start();
}));
