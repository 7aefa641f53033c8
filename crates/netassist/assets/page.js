'use strict';

// After this long without a word the service counts as silent: three of the half seconds in which it tells something.
const SILENCE_MS = 1500;
const RETRY_MS = 1000;
// A minute of half seconds.
const HISTORY = 120;
const LINE_WIDTH = 96;
const LINE_HEIGHT = 22;

const element = (id) => document.getElementById(id);
const rows = new Map();
let heardAt = null;
let refusal = null;

function show(kind, text) {
  const state = element('state');
  if (state.textContent !== text) state.textContent = text;
  state.className = kind;
  document.body.className = kind;
}

function showState() {
  if (refusal !== null) return show('gone', refusal);
  if (heardAt === null) return show('waiting', 'connecting');
  const silent = performance.now() - heardAt;
  if (silent < SILENCE_MS) return show('live', 'live');
  show('gone', `no word from the service for ${Math.floor(silent / 1000)} s; trying again`);
}

const number = (value, digits) => (value === null ? '–' : value.toFixed(digits));
const rate = (value) => number(value, value !== null && value < 100 ? 2 : 0);
const plural = (count, one) => `${count} ${one}${count === 1 ? '' : 's'}`;

function showGroup(id, group) {
  const list = element(id).querySelector('dl');
  const facts = [
    ['users', String(group.users)],
    ['served, Mbit/s', rate(group.served_mbit_per_s)],
    ['queued, kB', number(group.queue_bytes / 1000, 1)],
    ['mean wait, ms', number(group.queueing_ms, 1)],
  ];
  if (list.childElementCount === 0) {
    for (const [name] of facts) {
      const pair = document.createElement('div');
      const term = document.createElement('dt');
      term.textContent = name;
      pair.append(term, document.createElement('dd'));
      list.append(pair);
    }
  }
  facts.forEach(([, value], index) => { list.children[index].lastElementChild.textContent = value; });
}

const COLUMNS = [
  { label: 'served, Mbit/s', text: (user) => rate(user.served_mbit_per_s) },
  { label: 'reported, Mbit/s', kind: 'reported', line: (user) => user.reported_mbit_per_s, text: (user) => rate(user.reported_mbit_per_s),
    small: (user) => user.class },
  { label: 'queue, kB', text: (user) => number(user.queue_bytes / 1000, 1) },
  { label: 'wait, ms', kind: 'wait', line: (user) => user.queueing_ms, text: (user) => number(user.queueing_ms, 1) },
  { label: 'min RTT, ms', text: (user) => number(user.min_rtt_ms, 1) },
  { label: 'flows', text: (user) => String(user.flows) },
  { label: 'servers that are informed', text: (user) => user.informed.map((one) => one.server).join(', ') || 'none',
    small: (user) => [...new Set(user.informed.map((one) => one.because.replace('-', ' ')))].join(', ') },
];

function newRow(name) {
  const row = document.createElement('tr');
  const head = document.createElement('th');
  head.scope = 'row';
  head.append(name, document.createElement('small'));
  row.append(head);
  const cells = COLUMNS.map((column) => {
    const cell = document.createElement('td');
    cell.dataset.label = column.label;
    if (column.kind) cell.className = column.kind;
    const text = document.createElement('span');
    cell.append(text);
    const small = column.small && document.createElement('small');
    if (small) cell.append(small);
    const line = column.line && newLine();
    if (line) cell.append(line.picture);
    row.append(cell);
    return { text, small, line, values: [] };
  });
  return { row, place: head.lastElementChild, cells };
}

function newLine() {
  const make = (name) => document.createElementNS('http://www.w3.org/2000/svg', name);
  const picture = make('svg');
  picture.setAttribute('viewBox', `0 0 ${LINE_WIDTH} ${LINE_HEIGHT}`);
  picture.setAttribute('width', LINE_WIDTH);
  picture.setAttribute('height', LINE_HEIGHT);
  picture.setAttribute('preserveAspectRatio', 'none');
  picture.setAttribute('aria-hidden', 'true');
  const path = make('path');
  picture.append(path);
  return { picture, path };
}

function pathOf(values) {
  const highest = Math.max(...values.map((value) => value ?? 0)) || 1;
  let pen = 'M';
  return values.map((value, index) => {
    if (value === null) {
      pen = 'M';
      return '';
    }
    const x = LINE_WIDTH * (1 - (values.length - 1 - index) / (HISTORY - 1));
    const point = `${pen}${x.toFixed(1)} ${(LINE_HEIGHT * (1 - value / highest)).toFixed(1)}`;
    pen = 'L';
    return point;
  }).join('');
}

function showUser(user) {
  let known = rows.get(user.user);
  if (known === undefined) {
    known = newRow(user.user);
    rows.set(user.user, known);
  }
  known.place.textContent = `cell ${user.cell}${user.cells_seen > 1 ? `; ${user.cells_seen} cells so far` : ''}`;
  COLUMNS.forEach((column, index) => {
    const cell = known.cells[index];
    cell.text.textContent = column.text(user);
    if (cell.small) cell.small.textContent = column.small(user);
    if (cell.line) {
      cell.values.push(column.line(user));
      if (cell.values.length > HISTORY) cell.values.shift();
      cell.line.path.setAttribute('d', pathOf(cell.values));
    }
  });
  return known.row;
}

function showOverview(overview) {
  heardAt = performance.now();
  element('service').textContent = overview.service;
  document.title = `NetAssist ${overview.service}`;
  const known = overview.assisted.users + overview.unassisted.users;
  const hidden = known - overview.shown.length;
  const isEmpty = overview.shown.every((user) => user.class === 'stale');
  element('totals').textContent = `${isEmpty ? 'No users: no source reports one now. ' : ''}${plural(overview.users, 'user')} in the table, of ${known} something is known; `
    + `${plural(overview.clients, 'client')} connected`
    + (hidden > 0 ? `. Shown: the ${overview.shown.length} to whom most is served` : '');
  showGroup('assisted', overview.assisted);
  showGroup('unassisted', overview.unassisted);
  const present = new Set(overview.shown.map((user) => user.user));
  for (const [name, { row }] of rows) {
    if (!present.has(name)) {
      row.remove();
      rows.delete(name);
    }
  }
  const body = element('users');
  overview.shown.forEach((user, index) => {
    const row = showUser(user);
    if (body.children[index] !== row) body.insertBefore(row, body.children[index] ?? null);
  });
  showState();
}

// Server-sent events, read by fetch: EventSource cannot send the pass in a header, and a pass in the address would be in logs.
async function follow() {
  const pass = location.hash.slice(1);
  const headers = pass === '' ? {} : { Authorization: `Bearer ${pass}` };
  const answer = await fetch('events', { headers, cache: 'no-store' });
  if (!answer.ok) {
    refusal = (await answer.text()).trim();
    return;
  }
  refusal = null;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) {
      if (event.startsWith('data: ')) showOverview(JSON.parse(event.slice('data: '.length)));
    }
  }
}

async function followForEver() {
  for (;;) {
    try {
      await follow();
    } catch {
      // Lost, or not there: the state tells how long ago it was heard last.
      if (heardAt === null) heardAt = performance.now() - SILENCE_MS;
    }
    await new Promise((resolve) => { setTimeout(resolve, RETRY_MS); });
  }
}

addEventListener('hashchange', () => location.reload());
setInterval(showState, 100);
followForEver();
