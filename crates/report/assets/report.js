// Draws the figures in the JSON of #data, which are those of figure/mod.rs: nothing is computed here but places on the screen.
"use strict";
// The page is shown first. A tab in the background is not shown, and does not wait for it.
new Promise((shown) => { requestAnimationFrame(shown); setTimeout(shown, 250); }).then(() => setTimeout(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const apart = data.apart ?? []; // traces whose series are in a file of their own, next to the page
  const charts = new Map(); // element -> chart
  const waiting = new Map(); // element -> what draws it
  const state = { chosen: new Set(), picks: {}, from: null, to: null, filter: "", sort: null, more: false };
  const MOST_TOOLTIP_ROWS = 12;
  const MOST_LABELS = 40; // with more points most labels have no place
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
  const labelOf = (figure, mark) => {
    const { label } = data.keys[figure.keys][mark.k];
    return mark.name ? `${label}: ${mark.name}` : label;
  };

  function sample({ colour, marker, dash }) {
    return `<svg width="34" height="16" viewBox="0 0 34 16" aria-hidden="true"><path d="M1 8H33" stroke="${colour ?? "currentColor"}" stroke-width="2"
      stroke-dasharray="${data.dashes[dash].join(" ")}"/><path transform="translate(17 8) scale(.55)" d="${data.markers[marker]}" fill="${colour ?? "currentColor"}"/></svg>`;
  }

  // A click chooses a scheme; where none is chosen, all are.
  function buildLegend() {
    for (const line of data.lines) {
      const button = create("button", { type: "button", title: `${line.label}: only this one, or one more` });
      button.innerHTML = `${sample(line)}<span>${escape(line.label)}</span>`;
      button.addEventListener("click", () => {
        if (!state.chosen.delete(line.group)) state.chosen.add(line.group);
        drawAll();
      });
      byId("legend").append(button);
    }
  }

  function showChosen() {
    for (const { dataset, elements } of all("[data-controls]")) {
      for (const name of dataset.controls.split(" ")) if (elements[name]) elements[name].value = state.picks[name];
    }
    all("button", byId("legend")).forEach((button, group) => button.setAttribute("aria-pressed", String(state.chosen.has(group))));
    byId("legend").classList.toggle("choosing", state.chosen.size > 0);
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
    && Object.entries(figure.pick).every(([name, choice]) => state.picks[name] === choice));

  // ---------------------------------------------------------------- places of the page

  function drawSlot(slot) {
    const figures = figuresOf(slot.dataset.slot);
    const shape = figures.map(({ title, panels }) => `${title} ${panels.length}`).join("\n");
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
      const isOfChosen = ({ k }) => isChosen(data.keys[figure.keys][k]);
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

  const isOfCells = (figure) => figure.panels[0].marks[0]?.c != null;

  function frame(slot, figure) {
    if (isOfCells(figure)) return create("figure", { class: "scroll", tabindex: 0 }, ...figure.panels.map(() => create("table", { class: "cells" })));
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
    const rows = figure.panels.flatMap((panel) => panel.marks.flatMap((mark) => pointsOf(mark).map(([x, y]) =>
      [panel.title ?? "", labelOf(figure, mark), panel.x.title, x, panel.y.title, y].map(quoted).join(","))));
    return `panel,name,x_is,x,y_is,y\n${rows.join("\n")}\n`;
  }

  // ---------------------------------------------------------------- a panel

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

  function seriesOf(figure, panel, mark, places) {
    const { ink, line: faint, capacity, paper } = colours;
    const key = data.keys[figure.keys][mark.k];
    const chosen = isChosen(key);
    if (!chosen && panel.x.scale === "time") return [];
    const colour = chosen ? key.colour ?? ink : faint;
    const common = { name: labelOf(figure, mark), color: colour, data: pointsOf(mark), z: chosen ? 3 : 2, emphasis: { disabled: true } };
    const marker = { symbol: `path://${data.markers[key.marker]}`, symbolKeepAspect: true };
    const line = { ...common, type: "line", showSymbol: false, triggerLineEvent: true, lineStyle: { color: colour, width: chosen ? 1.8 : 1, type: data.dashes[key.dash].length ? data.dashes[key.dash] : "solid" }, step: panel.x.scale === "time" && panel.y.ticks ? "end" : false };
    switch (mark.s) {
      case "points": {
        const place = places?.get(mark);
        const label = { show: chosen && place != null, formatter: "{a}", position: place ?? "right", distance: 6, color: ink, fontSize: 12, backgroundColor: paper, padding: [0, 2],
          ...(common.name.length * 7 > widestLabel() ? { width: widestLabel(), overflow: "truncate" } : {}) };
        const bars = (mark.i ?? []).flatMap(([across, along], index) => {
          const [x, y] = pointsOf(mark)[index];
          return [...(across ? [[across[0], y], [across[1], y], [null, null]] : []), ...(along ? [[x, along[0]], [x, along[1]], [null, null]] : [])];
        });
        const interval = { type: "line", data: bars, silent: true, showSymbol: false, color: colour, lineStyle: { color: colour, width: 1.2 }, z: common.z, tooltip: { show: false } };
        return [{ ...common, ...marker, type: "scatter", symbolSize: key.colour ? 14 : 18, itemStyle: { opacity: 1 }, label, mark }, ...(bars.length && chosen ? [interval] : [])];
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
    const places = labelPlaces(chart, figure, panel);
    const together = panel.x.scale === "time" || panel.marks.some(({ s }) => s === "path");
    const area = panel.marks.find(({ s }) => s === "area");
    const title = `${panel.title ? `${panel.title}: ` : ""}${panel.y.title}${area ? ` (shaded: ${labelOf(figure, area)})` : ""}`;
    const series = panel.marks.flatMap((mark) => seriesOf(figure, panel, mark, places));
    chart.setOption({
      animation: false, textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
      title: { text: title, left: 0, top: 0, textStyle: { fontSize: 13, fontWeight: 600, color: ink, width: chart.getWidth(), overflow: "truncate" } },
      grid: { left: 4, right: 24, top: 34, bottom: 46, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
      xAxis: axis(panel.x, false), series,
      // Over time only what is chosen is drawn: the axis fits it.
      yAxis: axis(panel.y, true, panel.x.scale === "time" && !panel.y.ticks && state.chosen.size > 0),
      tooltip: { confine: true, backgroundColor: paper, borderColor: line, textStyle: { color: ink, fontSize: 12 }, transitionDuration: 0,
        trigger: together ? "axis" : "item", axisPointer: { type: "line", lineStyle: { color: quiet } },
        formatter: together ? (items) => describeAll(panel, items) : (item) => describe(panel, item, series[item.seriesIndex].mark) },
    }, { notMerge: true });
    scalable(element, chart);
    if (isNew && panel.x.scale === "time") {
      chart.group = "time"; // tooltips of all charts of a group move together
      zoomByDrag(element, chart);
    }
  }

  // A heat map is a table: it can be read aloud, and scrolls.
  function drawCells(table, panel) {
    if (table.shown === panel) return;
    table.shown = panel;
    const { x, y, marks: [mark] } = panel;
    const name = ([, text], scope) => create("th", { scope }, create("span", {}, text));
    const head = create("tr", {}, create("td"), ...x.ticks.map((tick) => name(tick, "col")));
    const rows = y.ticks.map((tick) => create("tr", {}, name(tick, "row"), ...x.ticks.map(() => create("td"))));
    pointsOf(mark).forEach(([across, up], index) => {
      const [shade, text] = mark.c[index];
      const cell = rows[up].children[across + 1];
      cell.textContent = text;
      cell.style.background = `color-mix(in srgb, var(--focus) ${Math.round(shade * 70)}%, transparent)`;
      cell.tabIndex = -1;
      if (!panel.title) cell.addEventListener("click", () => only(data.keys[0][across].group, y.ticks[up][1]));
    });
    const caption = panel.title ? [create("caption", {}, `${panel.title}, ${y.title} over ${x.title}`)] : [];
    table.replaceChildren(...caption, create("thead", {}, head), create("tbody", {}, ...rows.reverse()));
    rows[0].cells[1].tabIndex = 0; // the keyboard enters here, and moves by arrows
    table.onkeydown = (event) => {
      const { key, target } = event;
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
      if (key === "Enter") target.click();
      if (!step) return;
      event.preventDefault();
      rows[target.parentElement.sectionRowIndex + step[1]]?.cells[target.cellIndex + step[0]]?.focus();
    };
  }

  // On paper the style sheet fits a figure to the page, which a drawing without a view box refuses.
  function scalable(element, chart) {
    element.querySelector("svg").setAttribute("viewBox", `0 0 ${chart.getWidth()} ${chart.getHeight()}`);
  }

  function describe({ x, y }, { seriesName, value }, mark) {
    const between = (interval) => (interval ? ` (${interval.map(number).join(" to ")})` : "");
    const [across, along] = mark?.i?.[0] ?? [];
    return `<b>${escape(seriesName)}</b><br>${escape(y.title)}: ${number(value[1])}${between(along)}<br>${escape(x.title)}: ${number(value[0])}${between(across)}`;
  }

  function describeAll({ x }, items) {
    const rows = items.filter(({ value }) => value[1] != null);
    const shown = rows.slice(0, MOST_TOOLTIP_ROWS).map(({ marker, seriesName, value }) => `${marker}${escape(seriesName)} <b>${number(value[1])}</b>`);
    if (rows.length > shown.length) shown.push(`and ${rows.length - shown.length} more`);
    const at = items[0].value[0];
    return `${escape(x.title)}: ${escape(new Map(x.ticks).get(at) ?? number(at))}<br>${shown.join("<br>")}`;
  }

  // Where the label of each chosen point stands, so that it covers no other label and no marker; none where there is no room.
  function labelPlaces(chart, figure, { x, y, marks }) {
    const points = marks.filter(({ s }) => s === "points");
    if (points.length === 0) return null;
    const [HALF, GAP, LINE] = [9, 15, 16];
    const [width, height] = [chart.getWidth() - 70, chart.getHeight() - 80];
    const share = ({ scale, from, to, leftwards }, value) => {
      const place = scale === "log" ? Math.log : Number;
      const at = (place(value) - place(from)) / (place(to) - place(from));
      return leftwards ? 1 - at : at;
    };
    const centres = new Map(points.map((mark) => [mark, [width * share(x, pointsOf(mark)[0][0]), height * (1 - share(y, pointsOf(mark)[0][1]))]]));
    const taken = [...centres].map(([mark, [left, top]]) => ({ mark, left: left - HALF, right: left + HALF, top: top - HALF, bottom: top + HALF }));
    const chosen = points.filter((mark) => isChosen(data.keys[figure.keys][mark.k]));
    return new Map(chosen.length > MOST_LABELS ? [] : chosen.map((mark) => {
      const [left, top] = centres.get(mark);
      const wide = Math.min(labelOf(figure, mark).length * 7, widestLabel());
      const box = (from, middle) => ({ mark, left: from, right: from + wide, top: middle - LINE / 2, bottom: middle + LINE / 2 });
      const boxes = { right: box(left + GAP, top), left: box(left - GAP - wide, top), top: box(left - wide / 2, top - GAP - 4), bottom: box(left - wide / 2, top + GAP + 4) };
      const isFree = (a) => a.left >= 0 && a.right <= width && a.top >= -GAP
        && taken.every((b) => b.mark === mark || a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top);
      const place = Object.keys(boxes).find((side) => isFree(boxes[side]));
      if (place) taken.push(boxes[place]);
      return [mark, place];
    }));
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
    const { from, to } = byId("time-controls").elements;
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

  // ---------------------------------------------------------------- all runs

  // Only this scheme, on this trace where the page has it.
  function only(group, trace) {
    state.chosen = new Set([group]);
    for (const name of ["view", "series"]) if (hasChoice(name, trace)) choose(name, trace);
    drawAll();
  }

  function drawRuns() {
    const { columns, rows } = data.runs;
    const headings = ["Scheme", "Trace", "Seed", ...columns];
    const values = ([label, , trace, seed, numbers]) => [label, trace, seed, ...numbers];
    state.sort ??= [Math.max(2, headings.findIndex((text) => text.startsWith("95th"))), -1];
    const [by, direction] = state.sort;
    const words = state.filter.toLowerCase().split(" ");
    const found = rows.filter((row) => (state.chosen.size === 0 || state.chosen.has(row[1])) && words.every((word) => `${row[0]} ${row[2]} ${row[3]}`.toLowerCase().includes(word)));
    const { compare } = new Intl.Collator("en", { numeric: true });
    const order = (one, other) => (typeof one === "string" ? compare(one, other) : one - other);
    const missing = (value) => value == null; // last, whichever way
    const sorted = found.map(values).map((cells, index) => [cells, found[index]]).sort(([one], [other]) =>
      missing(one[by]) - missing(other[by]) || direction * order(one[by], other[by]));
    const shown = sorted.slice(0, state.more ? sorted.length : FEW_RUNS);
    const button = (text) => `<button type="button">${escape(text)}</button>`;
    const head = headings.map((text, index) => {
      const sort = index === by ? ` aria-sort="${direction > 0 ? "ascending" : "descending"}"` : "";
      return `<th scope="col"${sort}>${button(text)}</th>`;
    });
    const cell = (value) => `<td>${typeof value === "string" ? escape(value) : number(value)}</td>`;
    const body = shown.map(([[name, ...cells]]) => `<tr><th scope="row">${button(name)}</th>${cells.map(cell).join("")}</tr>`);
    const section = byId("runs");
    const table = section.querySelector("table");
    table.innerHTML = `<thead><tr>${head.join("")}</tr></thead><tbody>${body.join("")}</tbody>`;
    table.onclick = ({ target }) => {
      const { scope, cellIndex, parentElement } = target.closest("button")?.parentElement ?? {};
      if (scope === "row") {
        const [, [, group, trace]] = shown[parentElement.sectionRowIndex];
        only(group, trace);
        byId("over-time").scrollIntoView();
      } else if (scope === "col") {
        state.sort = [cellIndex, cellIndex === by ? -direction : cellIndex < 2 ? 1 : -1];
        drawRuns();
        writeAddress();
        all("thead button", table)[cellIndex].focus({ preventScroll: true });
      }
    };
    section.querySelector("output").textContent = `${sorted.length} of ${rows.length} runs`;
    section.querySelector("[name=more]").hidden = shown.length === sorted.length;
  }

  // ---------------------------------------------------------------- the address

  // What is chosen stands behind the # of the address, so that a link shows the same. A frame of a notebook has no address.
  function writeAddress() {
    if (location.protocol === "about:") return;
    const { chosen, picks, from, to, filter, sort } = state;
    const words = new URLSearchParams({ ...picks, ...(filter && { filter }), ...(from != null && { from }), ...(to != null && { to }), sort: sort.join(",") });
    for (const group of chosen) words.append("only", data.lines[group].label);
    history.replaceState(history.state, "", `#${words}`);
  }

  function readAddress() {
    const words = new URLSearchParams(location.hash.slice(1));
    for (const [name, choice] of words) {
      if (hasChoice(name, choice)) state.picks[name] = choice;
      if (name === "from" || name === "to") state[name] = Number(choice) || 0;
      if (name === "filter") state.filter = choice;
    }
    const chosen = words.getAll("only").map((label) => data.lines.findIndex((line) => line.label === label));
    state.chosen = new Set(chosen.filter((group) => group >= 0));
    const sort = words.get("sort")?.split(",").map(Number);
    if (sort?.length === 2 && sort[0] < data.runs.columns.length + 3) state.sort = sort;
  }

  // ---------------------------------------------------------------- the page

  function drawAll() {
    readColours();
    showChosen();
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
    buildControls();
    const { from, to, whole } = byId("time-controls").elements;
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
    addEventListener("resize", () => charts.forEach((chart, element) => { chart.resize(); scalable(element, chart); }));
    new ResizeObserver(drawNear).observe(document.body); // what is laid out anew may move others into the window
    // Other colours; paper has those of a light screen.
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", drawAll);
  }

  document.head.append(create("script", {}, byId("echarts").textContent)); // the library that draws
  start();
}));
