// The report's figures. Everything drawn is in the JSON of #data; the shapes and colours of schemes are made in style.rs.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const hidden = new Set(); // indices of schemes that are switched off
  const charts = new Map(); // element -> chart
  const MOST_TOOLTIP_ROWS = 12;
  const MOST_LABELS = 12; // with more rows the legend has to tell the markers apart
  const LEAST_DRAG_PX = 5; // a shorter one is a click

  const QUANTITIES = {
    throughput_mbit_s: "Throughput, Mbit/s",
    rtt_ms: "Round-trip time, ms",
    queueing_delay_ms: "Queueing delay, ms",
    window_packets: "Window, packets",
    jain_index: "Jain's index of the flows, by second",
  };

  const byId = (id) => document.getElementById(id);
  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ink: colour("ink"), quiet: colour("quiet"), line: colour("line"), paper: colour("paper"), capacity: colour("capacity") };
  };
  const colourOf = (scheme) => scheme.colour ?? theme().ink;
  // Four significant digits, enough for powers of two on an axis.
  const number = (value) => (value == null ? "–" : String(Number(value.toPrecision(4))));
  // A column's name ends in its unit: "btl_bw_mbit_s" is headed "btl bw, Mbit/s".
  const UNITS = [["_mbit_s", "Mbit/s"], ["_pkt", "packets"], ["_packets", "packets"], ["_ms", "ms"], ["_s", "s"]];
  const titled = (name) => {
    const [ending, unit] = UNITS.find(([ending]) => name.endsWith(ending)) ?? ["", ""];
    const words = name.slice(0, name.length - ending.length).replaceAll("_", " ");
    return unit ? `${words}, ${unit}` : words;
  };
  const escape = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

  // ---------------------------------------------------------------- the legend

  function sample(scheme) {
    const colour = scheme.colour ?? "currentColor";
    return `<svg width="34" height="16" viewBox="0 0 34 16" aria-hidden="true"><path d="M1 8H33" stroke="${colour}" stroke-width="2"
      stroke-dasharray="${scheme.dash.join(" ")}"/><path transform="translate(17 8) scale(.55)" d="${scheme.marker}" fill="${colour}"/></svg>`;
  }

  function buildLegend() {
    data.schemes.forEach((scheme, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.innerHTML = `${sample(scheme)}<span>${escape(scheme.label)}</span>`;
      button.title = `${scheme.label}: show or hide`;
      button.addEventListener("click", () => {
        const show = hidden.delete(index);
        if (!show) hidden.add(index);
        button.setAttribute("aria-pressed", String(show));
        drawAll();
      });
      byId("legend").append(button);
    });
  }

  // ---------------------------------------------------------------- drawing

  function draw(element, option) {
    let chart = charts.get(element);
    if (!chart) {
      chart = echarts.init(element, null, { renderer: "svg" });
      charts.set(element, chart);
    }
    const fontFamily = getComputedStyle(document.body).fontFamily;
    chart.setOption({ animation: false, textStyle: { fontFamily }, ...option }, { notMerge: true });
    scalable(element, chart);
    return chart;
  }

  // On paper the style sheet fits a figure to the page, which a drawing without a view box refuses.
  function scalable(element, chart) {
    element.querySelector("svg").setAttribute("viewBox", `0 0 ${chart.getWidth()} ${chart.getHeight()}`);
  }

  const narrow = () => document.documentElement.clientWidth < 640;

  function axis(kind, name, more) {
    const { ink, quiet, line } = theme();
    return {
      type: kind,
      name,
      nameLocation: "middle",
      nameGap: 30,
      nameTextStyle: { color: quiet, fontSize: 13 },
      axisLine: { show: true, lineStyle: { color: quiet } },
      axisTick: { show: true, lineStyle: { color: quiet } },
      axisLabel: { color: ink, fontSize: 12, formatter: number, hideOverlap: true },
      splitLine: { lineStyle: { color: line, width: 1 } },
      minorTick: { show: false },
      ...more,
    };
  }

  function tooltip(more) {
    const { ink, paper, line } = theme();
    return { confine: true, backgroundColor: paper, borderColor: line, textStyle: { color: ink, fontSize: 12 }, transitionDuration: 0, ...more };
  }

  // Vertical axes say what they show in a title above the plot, which a phone has room for.
  const plotTitle = (text) => ({ text, left: 0, top: 0, textStyle: { fontSize: 13, fontWeight: 600, color: theme().ink } });
  const grid = (bottom) => ({ left: 4, right: 16, top: 34, bottom, outerBoundsMode: "same", outerBoundsContain: "axisLabel" });

  // A logarithmic axis from power of two to power of two around the values, with room of `margin` octaves.
  function octaves(name, values, margin, more) {
    const logs = values.length ? values.map(Math.log2) : [0, 1];
    const low = Math.floor(Math.min(...logs) - margin);
    const high = Math.max(Math.ceil(Math.max(...logs) + margin), low + 1);
    const interval = Math.ceil((high - low) / (narrow() ? 6 : 12));
    return axis("log", name, { logBase: 2, min: 2 ** low, max: 2 ** high, interval, ...more });
  }

  const choice = (form, name) => byId(form).elements[name].value;

  // ---------------------------------------------------------------- throughput against delay

  const currentView = () => data.views[Number(choice("view-controls", "view")) || 0];
  const shownCells = (view) =>
    data.schemes.map((scheme, index) => ({ scheme, index, cell: view.schemes[index] })).filter(({ index, cell }) => cell && !hidden.has(index));

  function drawScatter() {
    const [delay, statistic, vertical] = ["delay", "statistic", "vertical"].map((name) => choice("view-controls", name));
    const view = currentView();
    // The axes are those of all schemes, so that switching one off moves nothing.
    const delays = view.schemes.map((cell) => cell?.[`${delay}_${statistic}`]).filter((value) => value > 0);
    const heights = view.schemes.map((cell) => cell?.[vertical]).filter((value) => value != null);
    const { ink, quiet } = theme();
    const horizontal = octaves(`${statistic === "mean" ? "Mean" : "95th percentile of the"} ${delay === "rtt" ? "RTT" : "queueing delay"}, ms`,
      delays, 0.15, { inverse: true });
    const spread = Math.max(...heights) - Math.min(...heights) || Math.max(...heights) || 1;
    const [lowest, highest] = [Math.max(0, Math.floor((Math.min(...heights) - 0.12 * spread) * 50) / 50), Math.ceil((Math.max(...heights) + 0.08 * spread) * 50) / 50];
    const { clientWidth, clientHeight } = byId("scatter");
    const places = labelPlaces(shownCells(view).map(({ scheme, cell }) => ({
      x: (clientWidth - 70) * Math.log2(horizontal.max / cell[`${delay}_${statistic}`]) / Math.log2(horizontal.max / horizontal.min),
      y: (clientHeight - 80) * (highest - cell[vertical]) / (highest - lowest),
      width: Math.min(scheme.label.length * 7, narrow() ? 110 : 240),
    })), clientWidth - 70);
    const series = shownCells(view).map(({ scheme, cell }, index) => {
      const x = cell[`${delay}_${statistic}`];
      const colour = colourOf(scheme);
      // Zero has no place on a logarithmic axis: such a scheme, usually the limit, is a line across.
      const across = { silent: true, symbol: "none", lineStyle: { color: colour, type: [6, 4], width: 1.5 },
        label: { formatter: scheme.label, position: "insideStartTop", color: quiet, fontSize: 12 }, data: [{ yAxis: cell[vertical] }] };
      return {
        type: "scatter", name: scheme.label, symbol: `path://${scheme.marker}`, symbolSize: scheme.limit ? 18 : 14, symbolKeepAspect: true,
        itemStyle: { color: colour, opacity: 1 }, data: x > 0 ? [[x, cell[vertical]]] : [], markLine: x > 0 ? undefined : across,
        label: { show: view.schemes.length <= MOST_LABELS && places[index] !== null, formatter: "{a}", position: places[index] ?? "right", distance: 6, color: ink, fontSize: 12, width: narrow() ? 110 : 240, overflow: "truncate" },
        cell,
      };
    });
    const unit = vertical === "utilisation" ? "Utilisation of the link" : "Throughput, Mbit/s";
    draw(byId("scatter"), {
      title: plotTitle(unit), grid: { ...grid(46), right: 24 }, series,
      xAxis: horizontal,
      yAxis: axis("value", "", { scale: true, position: "left", axisLabel: { color: ink, fontSize: 12, formatter: number, showMinLabel: false, showMaxLabel: false },
        min: lowest, max: highest }),
      tooltip: tooltip({ trigger: "item", formatter: ({ seriesIndex }) => describe(series[seriesIndex]) }),
    });
  }

  // Where each label stands at its marker, so that it covers no other label and no marker; null where there is no room. In pixels.
  function labelPlaces(markers, chartWidth) {
    const [HALF, GAP, LINE] = [9, 15, 16];
    const taken = markers.map(({ x, y }) => ({ left: x - HALF, right: x + HALF, top: y - HALF, bottom: y + HALF }));
    return markers.map(({ x, y, width }, own) => {
      const box = (left, middle) => ({ left, right: left + width, top: middle - LINE / 2, bottom: middle + LINE / 2 });
      const boxes = { right: box(x + GAP, y), left: box(x - GAP - width, y), top: box(x - width / 2, y - GAP - 4), bottom: box(x - width / 2, y + GAP + 4) };
      const isFree = (a) => a.left >= 0 && a.right <= chartWidth && a.top >= -GAP
        && taken.every((b, other) => other === own || a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top);
      const place = Object.keys(boxes).find((side) => isFree(boxes[side])) ?? null;
      if (place) taken.push(boxes[place]);
      return place;
    });
  }

  function describe({ name, cell }) {
    const rows = [["utilisation", cell.utilisation, ""], ["throughput", cell.throughput, "Mbit/s"],
      ["queueing delay", cell.queueing_mean, "ms"], ["… p95", cell.queueing_p95, "ms"], ["RTT", cell.rtt_mean, "ms"], ["… p95", cell.rtt_p95, "ms"]];
    return `<b>${escape(name)}</b><br>${rows.filter(([, value]) => value != null).map(([what, value, unit]) => `${what} ${number(value)} ${unit}`).join("<br>")}`;
  }

  // ---------------------------------------------------------------- over the one varied condition

  function drawSweep() {
    byId("sweep").hidden = !data.sweep;
    if (!data.sweep) return;
    const [delay, statistic, vertical] = ["delay", "statistic", "vertical"].map((name) => choice("view-controls", name));
    const { key, values } = data.sweep;
    byId("sweep-title").textContent = `Over ${key}`;
    const view = currentView();
    const lines = data.sweep.lines.filter(({ rows }) => !rows.every((row) => row == null || hidden.has(row)));
    const shown = (quantity, keeps) => lines.map((line) => ({
      ...lineStyle(line), showSymbol: true, symbol: `path://${line.marker}`, symbolSize: 9, triggerLineEvent: false, name: line.label,
      data: line.rows.map((row) => view.schemes[row]?.[quantity]).map((value) => (keeps(value) ? value : null)),
    }));
    const entries = lines.map((line) => ({ name: line.label, icon: `path://${line.marker}`, itemStyle: { color: colourOf(line) } }));
    const legend = { type: "scroll", data: entries, top: 22, left: 0, itemWidth: 14, itemHeight: 9, textStyle: { color: theme().ink, fontSize: 12 }, selectedMode: false };
    const over = () => axis("category", key, { data: values, splitLine: { show: false }, axisLabel: { color: theme().ink, fontSize: 12, hideOverlap: true } });
    const about = tooltip({ trigger: "axis", formatter: (items) => `${escape(key)} ${escape(items[0].name)}<br>${items.filter(({ value }) => value != null)
      .map(({ marker, seriesName, value }) => `${marker}${escape(seriesName)} <b>${number(value)}</b>`).join("<br>")}` });
    const place = { ...grid(46), top: 60 };
    draw(byId("sweep-vertical"), {
      title: plotTitle(vertical === "utilisation" ? "Utilisation of the link" : "Throughput, Mbit/s"), legend, grid: place,
      series: shown(vertical, (value) => value != null), xAxis: over(), yAxis: axis("value", "", { min: 0 }), tooltip: about,
    });
    const series = shown(`${delay}_${statistic}`, (value) => value > 0);
    const delays = series.flatMap((line) => line.data).filter((value) => value != null);
    draw(byId("sweep-delay"), {
      title: plotTitle(`${statistic === "mean" ? "Mean" : "95th percentile of the"} ${delay === "rtt" ? "RTT" : "queueing delay"}, ms`), legend, grid: place,
      series, xAxis: over(), yAxis: octaves("", delays, 0), tooltip: about,
    });
  }

  // ---------------------------------------------------------------- the delay's distribution

  function drawCdf() {
    const delay = choice("view-controls", "delay");
    const LEAST_MS = 0.125; // below it delays look alike; zero has no place on a logarithmic axis
    const visible = (cell) => cell?.[`${delay}_cdf`].at(-1) > LEAST_MS;
    const curve = (cell) => cell[`${delay}_cdf`].map((ms, step, all) => [Math.max(ms, LEAST_MS), step / (all.length - 1)]);
    const view = currentView();
    const ends = view.schemes.filter(visible).flatMap((cell) => [curve(cell)[0][0], curve(cell).at(-1)[0]]);
    const series = shownCells(view).filter(({ cell }) => visible(cell))
      .map(({ scheme, cell }) => ({ ...lineStyle(scheme), name: scheme.label, data: curve(cell) }));
    const pooled = data.views.length === 1 || view.name !== "";
    byId("cdf-title").textContent = delay === "rtt" ? "Distribution of the RTT" : "Distribution of the queueing delay";
    draw(byId("cdf"), {
      title: plotTitle(`Share of packets${narrow() ? "" : " with at most this delay"}${pooled ? "" : narrow() ? ", mean of traces" : ", mean over traces that weigh the same"}`), grid: { ...grid(46), right: 24 }, series,
      xAxis: octaves(delay === "rtt" ? "RTT, ms" : "Queueing delay, ms", ends, 0),
      yAxis: axis("value", "", { min: 0, max: 1 }),
      tooltip: tooltip({ trigger: "item", formatter: ({ seriesName, value }) => `<b>${escape(seriesName)}</b><br>${number(value[1] * 100)} % within ${number(value[0])} ms` }),
    });
  }

  const lineStyle = (scheme, width = 1.8) => ({
    type: "line", showSymbol: false, color: colourOf(scheme), triggerLineEvent: true, emphasis: { disabled: true },
    lineStyle: { color: colourOf(scheme), width, type: scheme.dash.length ? scheme.dash : "solid" },
  });

  // ---------------------------------------------------------------- over time

  const currentTrace = () => data.series[Number(choice("time-controls", "trace")) || 0];
  const points = (line) => line.values.map((value, index) => [index * line.step_s, value]);
  const runLength = (trace) => Math.max(1, ...[trace.capacity, ...trace.lines.flatMap(({ columns }) => Object.values(columns))].map((line) => line.values.length * line.step_s));

  function drawTime() {
    const trace = currentTrace();
    const present = new Set(trace.lines.flatMap(({ columns }) => Object.keys(columns)));
    const main = Object.keys(QUANTITIES).filter((name) => present.has(name));
    const internal = [...present].filter((name) => !(name in QUANTITIES));
    byId("internals-title").hidden = internal.length === 0;
    drawStack(byId("time-charts"), main, trace);
    drawStack(byId("internal-charts"), internal, trace);
    drawCurves(trace);
  }

  // ---------------------------------------------------------------- curves, early to late

  function drawCurves(trace) {
    const parent = byId("curve-charts");
    for (const element of parent.querySelectorAll(".chart")) {
      charts.get(element)?.dispose();
      charts.delete(element);
    }
    const shown = (trace.curves ?? []).filter(({ scheme }) => !hidden.has(scheme));
    byId("curves-title").hidden = shown.length === 0;
    parent.replaceChildren(...shown.flatMap((curve) => [
      figure("chart", `curve ${curve.name}`, `${curve.label}: ${titled(curve.y)} over ${titled(curve.x)}, one line a moment`),
      figure("chart short", "curve throughput", `${curve.label}: throughput over time`),
    ]));
    const elements = parent.querySelectorAll(".chart");
    shown.forEach((curve, index) => drawCurve(curve, trace, elements[2 * index], elements[2 * index + 1]));
  }

  function figure(className, quantity, label) {
    const outer = document.createElement("figure");
    const element = document.createElement("div");
    element.className = className;
    element.dataset.quantity = quantity;
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", label);
    outer.append(element);
    return outer;
  }

  function drawCurve({ scheme, label, flow, name, x, y, dots, snapshots }, trace, above, below) {
    const coloured = (colour, more) => ({ type: "line", showSymbol: false, color: colour, lineStyle: { color: colour, width: 1.4 }, emphasis: { disabled: true }, ...more });
    const [first, last] = [snapshots[0], snapshots.at(-1)];
    const words = narrow() ? titled(y) : `${label}: ${name}, ${titled(y)}`;
    draw(above, {
      title: plotTitle(`${words} (${number(first.time_s)} s blue, ${number(last.time_s)} s orange)`), grid: grid(46),
      series: snapshots.map(({ time_s, colour, points }) => coloured(colour, { name: `${number(time_s)} s`, data: points, ...(dots ? { type: "scatter", symbolSize: 4 } : { triggerLineEvent: true }) })),
      xAxis: axis("value", titled(x), { scale: true, splitLine: { show: false } }), yAxis: axis("value", "", { splitNumber: 4 }),
      tooltip: tooltip({ trigger: "item", formatter: ({ seriesName }) => escape(seriesName) }),
    });
    const line = trace.lines.find((line) => line.scheme === scheme && line.index === flow)?.columns.throughput_mbit_s;
    const all = line ? points(line) : [];
    // Each part reaches one step into the next, so that they meet.
    const part = (index) => all.filter(([time]) => time >= (index ? snapshots[index].time_s : 0) && time <= (snapshots[index + 1]?.time_s ?? Infinity) + line.step_s);
    draw(below, {
      title: plotTitle("Throughput, Mbit/s"), grid: grid(44), series: snapshots.map(({ colour }, index) => coloured(colour, { data: part(index) })),
      xAxis: axis("value", "Time, s", { max: Math.max(1, line ? line.values.length * line.step_s : 1), splitLine: { show: false } }), yAxis: axis("value", "", { splitNumber: 4 }),
    });
  }

  // One chart for each quantity, one below the other; those of other traces go.
  function drawStack(parent, names, trace) {
    for (const element of [...parent.querySelectorAll(".chart")].filter(({ dataset }) => !names.includes(dataset.quantity))) {
      charts.get(element)?.dispose();
      charts.delete(element);
      element.parentElement.remove();
    }
    names.forEach((name) => {
      let element = [...parent.querySelectorAll(".chart")].find(({ dataset }) => dataset.quantity === name);
      if (!element) {
        const figure = document.createElement("figure");
        element = document.createElement("div");
        element.className = name === "throughput_mbit_s" ? "chart" : "chart short";
        element.dataset.quantity = name;
        element.setAttribute("role", "img");
        element.setAttribute("aria-label", `${QUANTITIES[name] ?? name} over time, one line a scheme`);
        figure.append(element);
        parent.append(figure);
      }
      drawQuantity(element, name, trace);
    });
  }

  function drawQuantity(element, name, trace) {
    const { quiet, capacity } = theme();
    const series = trace.lines.filter(({ scheme, columns }) => !hidden.has(scheme) && name in columns).map((line) => {
      const scheme = data.schemes[line.scheme];
      return { ...lineStyle(scheme, line.index ? 1 : 1.5), name: line.flow ? `${scheme.label}: ${line.flow}` : scheme.label, data: points(line.columns[name]) };
    });
    const hasCapacity = trace.capacity.values.length > 0;
    if (name === "throughput_mbit_s" && hasCapacity) {
      series.unshift({ type: "line", name: "capacity of the link", showSymbol: false, silent: true, color: capacity, z: 0, emphasis: { disabled: true },
        lineStyle: { width: 0 }, areaStyle: { color: capacity, opacity: 0.75 }, data: points(trace.capacity) });
    }
    const [from, to] = shownTime();
    const isNew = !charts.has(element);
    const title = name === "throughput_mbit_s" && hasCapacity ? "Throughput, Mbit/s (shaded: capacity)" : QUANTITIES[name] ?? titled(name);
    const chart = draw(element, {
      title: plotTitle(title), grid: grid(44), series,
      xAxis: axis("value", "Time, s", { min: from, max: Math.max(to, from + 1e-3), splitLine: { show: false } }),
      yAxis: axis("value", "", { splitNumber: 4 }),
      tooltip: tooltip({ trigger: "axis", axisPointer: { type: "line", lineStyle: { color: quiet } }, formatter: atTime }),
    });
    if (isNew) {
      chart.group = "time"; // tooltips of all charts of a group move together
      zoomByDrag(element, chart);
    }
  }

  // A mouse or pen draws the span of time to see; a finger scrolls the page and has the fields above.
  function zoomByDrag(element, chart) {
    const band = document.createElement("div");
    band.className = "band";
    element.parentElement.append(band);
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
    element.addEventListener("dblclick", () => zoom(0, runLength(currentTrace())));
  }

  function atTime(items) {
    const rows = items.filter(({ value }) => value[1] != null);
    const shown = rows.slice(0, MOST_TOOLTIP_ROWS).map(({ marker, seriesName, value }) => `${marker}${escape(seriesName)} <b>${number(value[1])}</b>`);
    if (rows.length > shown.length) shown.push(`and ${rows.length - shown.length} more`);
    return `${number(items[0].value[0])} s<br>${shown.join("<br>")}`;
  }

  function shownTime() {
    const { from, to } = byId("time-controls").elements;
    return [Number(from.value) || 0, Number(to.value) || runLength(currentTrace())];
  }

  function zoom(from, to) {
    const { from: first, to: last } = byId("time-controls").elements;
    const [before, after] = [Math.max(0, from), Math.min(to, runLength(currentTrace()))].map(number);
    if (before === first.value && after === last.value) return;
    [first.value, last.value] = [before, after];
    drawTime();
  }

  // ---------------------------------------------------------------- the page

  function drawAll() {
    drawScatter();
    drawSweep();
    drawCdf();
    if (data.series.length) drawTime();
  }

  function fillSelect(form, name, names, more) {
    const select = byId(form).elements[name];
    names.forEach((text, index) => select.add(new Option(text, index)));
    select.parentElement.hidden = names.length < 2;
    select.addEventListener("change", more);
  }

  // Of a link that nobody knows no share is known, either: what schemes get is their throughput.
  function chooseVertical() {
    const cells = data.views.flatMap(({ schemes }) => schemes).filter((cell, index) => cell && !data.schemes[index % data.schemes.length].limit);
    const known = cells.filter(({ utilisation }) => utilisation != null).length;
    const { vertical } = byId("view-controls").elements;
    if (known < cells.length) vertical.value = "throughput";
    vertical[0].closest("fieldset").hidden = known === 0;
  }

  function start() {
    if (data.schemes.length === 0) return;
    buildLegend();
    chooseVertical();
    const traces = data.views.length - 1;
    fillSelect("view-controls", "view", data.views.map(({ name }) => name || `average over ${traces} traces`), () => {});
    byId("view-controls").addEventListener("change", () => { drawScatter(); drawSweep(); drawCdf(); });
    const wholeRun = () => zoom(0, runLength(currentTrace()));
    byId("over-time").hidden = data.series.length === 0;
    fillSelect("time-controls", "trace", data.series.map(({ name }) => name), () => { wholeRun(); drawTime(); });
    for (const name of ["from", "to"]) byId("time-controls").elements[name].addEventListener("change", drawTime);
    byId("time-controls").elements.whole.addEventListener("click", wholeRun);
    for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
    if (data.series.length) zoom(0, runLength(currentTrace()));
    drawAll();
    echarts.connect("time");
    addEventListener("resize", () => charts.forEach((chart, element) => { chart.resize(); scalable(element, chart); }));
    // Other colours; paper has those of a light screen.
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", drawAll);
  }

  start();
})();
