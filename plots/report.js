'use strict';
/* The table of cases. Records are data: they reach the page as text only. */
(function () {
  const PAGE = 100;
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($('data').textContent);
  const values = data.values;

  /* Where a key's value stands in records that have these keys. */
  const positions = new Map();
  function position(keys, key) {
    if (!positions.has(keys)) positions.set(keys, new Map(values[keys].map((name, i) => [name, i + 1])));
    return positions.get(keys).get(key);
  }
  function value(record, key) {
    const at = position(record[0], key);
    return at === undefined ? null : values[record[at]];
  }
  const text = (v) => (typeof v === 'string' ? v : '');
  const number = (v) => (typeof v === 'number' ? v : null);

  const cases = data.records.map((record, index) => {
    const [median, spread, rate, share] = data.shown[index];
    return {
      index, median, spread, rate, share,
      case: text(value(record, 'case')), kind: text(value(record, 'kind')), status: text(value(record, 'status')),
      threads: number(value(record, 'threads')), started: text(value(record, 'started')),
    };
  });

  /* What the words of a filter are looked for in: put together when one is asked for, so that the page opens sooner. */
  function searched(c) {
    if (c.search === undefined) {
      const record = data.records[c.index], model = value(record, 'model');
      c.search = [c.case, c.kind, c.status, c.started, text(value(record, 'why')), text(value(record, 'phase')),
        text(value(record, 'family')), text(value(record, 'variant')), model && typeof model === 'object' ? text(model.name) : '']
        .join('\n').toLowerCase();
    }
    return c.search;
  }

  const view = { filter: '', sort: '', down: false, page: 0, open: null };
  let shown = cases;

  function select() {
    const words = view.filter.toLowerCase().split(/\s+/).filter((w) => w);
    shown = cases.filter((c) => words.every((w) => searched(c).includes(w)));
    if (!view.sort) return;
    const key = view.sort, sign = view.down ? -1 : 1;
    const blank = (v) => v === null || v === '';
    shown.sort((a, b) => {
      const x = a[key], y = b[key];
      if (blank(x) || blank(y)) return blank(x) - blank(y) || a.index - b.index;
      return (x < y ? -sign : x > y ? sign : 0) || a.index - b.index;
    });
  }

  const digits = (v, n) => (v === null ? '' : v >= 1000 ? v.toFixed(0) : String(Number(v.toPrecision(n))));
  function time(ns) {
    if (ns === null) return '';
    const units = ['ns', 'µs', 'ms', 's'];
    let unit = 0;
    for (; unit < 3 && ns >= 999.5; unit++) ns /= 1000;
    return digits(ns, 3) + ' ' + units[unit];
  }

  function element(name, className, content) {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (content !== undefined) e.textContent = content;
    return e;
  }

  /* A case's name may break after its slashes and commas. */
  function breakable(e, name) {
    for (const part of name.split(/(?<=[/,])/)) e.append(part, document.createElement('wbr'));
    return e;
  }

  /* JSON with one key a line; lists of plain values stay on one. */
  function pretty(v, indent) {
    const list = Array.isArray(v);
    if (v === null || typeof v !== 'object') return JSON.stringify(v);
    const keys = Object.keys(v);
    if (!keys.length || (list && v.every((x) => x === null || typeof x !== 'object')))
      return list ? '[' + v.map((x) => JSON.stringify(x)).join(', ') + ']' : '{}';
    const inner = indent + '  ';
    const lines = keys.map((k) => inner + (list ? '' : JSON.stringify(k) + ': ') + pretty(v[k], inner));
    return (list ? '[' : '{') + '\n' + lines.join(',\n') + '\n' + indent + (list ? ']' : '}');
  }
  function whole(index) {
    const record = data.records[index], object = Object.create(null);
    values[record[0]].forEach((key, i) => { object[key] = values[record[i + 1]]; });
    return object;
  }

  function detail(c) {
    const row = element('tr'), cell = element('td', 'detail'), box = element('div', 'record');
    cell.colSpan = 9;
    const link = element('a', '', 'Link to this record');
    link.href = '#record=' + c.index;
    const pre = element('pre', '', pretty(whole(c.index), ''));
    pre.tabIndex = 0;
    box.append(pre, link);
    cell.append(box);
    row.append(cell);
    return row;
  }

  function rowOf(c) {
    const row = element('tr'), first = element('td'), button = breakable(element('button'), c.case || '(no name)');
    button.type = 'button';
    button.setAttribute('aria-expanded', String(view.open === c.index));
    button.addEventListener('click', () => {
      const open = button.getAttribute('aria-expanded') === 'true';
      button.setAttribute('aria-expanded', String(!open));
      if (open) row.nextSibling.remove(); else row.after(detail(c));
    });
    first.append(button);
    row.append(first, element('td', '', c.kind), element('td', c.status === 'ok' ? '' : 'bad', c.status),
      element('td', 'n', time(c.median)), element('td', 'n', c.spread === null ? '' : digits(100 * c.spread, 2)),
      element('td', 'n', digits(c.rate, 4)), element('td', 'n', c.share === null ? '' : digits(100 * c.share, 3)),
      element('td', 'n', c.threads === null ? '' : String(c.threads)), element('td', '', c.started));
    return row;
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    view.page = Math.min(view.page, pages - 1);
    const from = view.page * PAGE, part = shown.slice(from, from + PAGE), rows = [];
    for (const c of part) {
      rows.push(rowOf(c));
      if (view.open === c.index) rows.push(detail(c));
    }
    $('rows').replaceChildren(...rows);
    const of = shown.length === cases.length ? cases.length + ' cases' : shown.length + ' of ' + cases.length + ' cases';
    $('count').textContent = !part.length ? 'No case of ' + cases.length + ' has all these words.' :
      pages === 1 ? of : of + ', ' + (from + 1) + ' to ' + (from + part.length) + ' on this page';
    $('previous').disabled = view.page === 0;
    $('following').disabled = view.page === pages - 1;
    for (const th of document.querySelectorAll('#table th'))
      if (th.dataset.key === view.sort) th.setAttribute('aria-sort', view.down ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
  }

  function show() {
    select();
    draw();
  }

  /* What is shown is in the address, so that it can be linked to. */
  function note() {
    const parts = [];
    if (view.filter) parts.push('filter=' + encodeURIComponent(view.filter));
    if (view.sort) parts.push('sort=' + view.sort + (view.down ? '&down' : ''));
    try { history.replaceState(null, '', '#' + (parts.join('&') || 'cases')); } catch (e) { /* not where it is forbidden */ }
  }

  function follow() {
    const hash = location.hash.slice(1);
    if (!/(^|&)(filter|sort|record)=/.test(hash)) return;
    const asked = new URLSearchParams(hash), record = asked.get('record');
    view.filter = asked.get('filter') || '';
    view.sort = [...document.querySelectorAll('#table th')].map((th) => th.dataset.key)
      .find((key) => key === asked.get('sort')) || '';
    view.down = asked.has('down');
    view.page = 0;
    view.open = record !== null && cases[record] ? Number(record) : null;
    $('filter').value = view.filter;
    select();
    if (view.open !== null) view.page = Math.max(0, Math.floor(shown.findIndex((c) => c.index === view.open) / PAGE));
    draw();
    const opened = document.querySelector('#rows button[aria-expanded="true"]');
    (opened || $('cases')).scrollIntoView();
    if (opened) opened.focus();
  }

  let waiting = 0;
  $('filter').addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      view.filter = $('filter').value;
      view.page = 0;
      view.open = null;
      show();
      note();
    }, 120);
  });
  $('controls').addEventListener('submit', (event) => event.preventDefault());
  for (const th of document.querySelectorAll('#table th'))
    th.firstChild.addEventListener('click', () => {
      view.down = view.sort === th.dataset.key ? !view.down : false;
      view.sort = th.dataset.key;
      view.page = 0;
      show();
      note();
    });
  function turn(by) {
    view.page += by;
    draw();
    $('table').scrollIntoView();
  }
  $('previous').addEventListener('click', () => turn(-1));
  $('following').addEventListener('click', () => turn(1));
  window.addEventListener('hashchange', follow);

  $('browser').hidden = false;
  show();
  follow();
}());
