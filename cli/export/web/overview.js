// The first page of `swipr view`: every thread over time, and the same as short tables.

import { sum_functions } from './call_tree.js';
import { Colours } from './colours.js';
import { show_heading } from './heading.js';
import { load_profile, STATES } from './profile.js';
import { make_selection, sum_rows } from './selection.js';
import { element, format_percent, format_time } from './text.js';
import { Timeline } from './timeline.js';

const MAX_ROWS = 15;

// A table of [share, texts…] rows; the share is drawn behind the first column.
function fill_table(table, heads, rows) {
  const head = element('tr');
  head.append(...heads.map((text, column) =>
    element('th', text, { scope: 'col', class: column < heads.length - 1 ? 'number' : '' })));
  const body = rows.map(([share, ...texts]) => {
    const row = element('tr');
    row.append(...texts.map((text, column) =>
      element('td', text, { class: column < texts.length - 1 ? 'number' : '', title: text })));
    row.firstChild.style.setProperty('--share', `${100 * share}%`);
    return row;
  });
  if (rows.length === 0) {
    body.push(element('tr'));
    body[0].append(element('td', 'nothing', { colspan: heads.length }));
  }
  const parts = [element('thead'), element('tbody')];
  parts[0].append(head);
  parts[1].append(...body);
  table.replaceChildren(...parts);
}

class Overview {
  constructor(profile) {
    this.profile = profile;
    this.selection = make_selection(profile);
    this.colours = new Colours(profile);
    show_heading(profile);
    this.show_legend();
    this.timeline = new Timeline(profile, this.selection, this.colours, () => this.update());
    this.listen();
    this.update();
  }

  show_legend() {
    document.getElementById('legend').replaceChildren(...STATES.slice(0, 3).map(({ key, label }) => {
      const entry = element('span');
      const swatch = element('i');
      swatch.style.background = `var(--${key})`;
      entry.append(swatch, element('span', label));
      return entry;
    }));
  }

  // [weight of each function in all, self weight of each function, whole]
  sum(weight, states) {
    const selection = { ...this.selection, weight, states };
    const sums = sum_rows(this.profile, selection);
    const functions = sum_functions(this.profile, sums);
    return { ...functions, whole: sums.self.reduce((all, value) => all + value, 0) };
  }

  update() {
    this.show_hot();
    this.show_waits();
    this.show_threads();
    const { threads, range } = this.selection;
    const parts = [];
    if (threads.size > 0) parts.push(threads.size === 1 ? this.profile.threads.name[[...threads][0]] : `${threads.size} threads`);
    if (range) {
      parts.push(range.map((slice) => format_time(slice * this.profile.duration_ns / this.profile.slices)).join(' – '));
    }
    document.getElementById('chosen').textContent = parts.length > 0 ? `Only ${parts.join(', ')}` : '';
    document.getElementById('all').hidden = parts.length === 0;
  }

  show_hot() {
    const { self, total, whole } = this.sum('cpu', STATES.map(() => true));
    const { name } = this.profile.functions;
    const order = name.map((_, func) => func).filter((func) => self[func] > 0)
      .sort((a, b) => self[b] - self[a] || a - b).slice(0, MAX_ROWS);
    fill_table(document.getElementById('hot'), ['Self', 'Total', 'Function'], order.map((func) =>
      [self[func] / whole, format_percent(self[func], whole), format_percent(total[func], whole), name[func]]));
  }

  // Where blocked threads are innermost frames stand for the system call.
  show_waits() {
    const { self, whole } = this.sum('blocked', STATES.map(({ key }) => key === 'blocked'));
    const { name, code } = this.profile.functions;
    const order = name.map((_, func) => func).filter((func) => !code[func] && self[func] > 0)
      .sort((a, b) => self[b] - self[a] || a - b).slice(0, MAX_ROWS);
    fill_table(document.getElementById('blocked'), ['Share', 'Time', 'Waiting in'], order.map((func) =>
      [self[func] / whole, format_percent(self[func], whole), format_time(self[func]), name[func].replace(/^\[|\]$/g, '')]));
  }

  show_threads() {
    const { rows, threads } = this.profile;
    const keys = ['cpu', 'runqueue', 'blocked'];
    const sums = threads.name.map(() => [0, 0, 0]);
    const { range, threads: chosen } = this.selection;
    for (let row = 0; row < rows.thread.length; ++row) {
      const from = rows.first[row];
      const end = rows.last[row] + 1;
      const inside = range ? Math.max(0, Math.min(end, range[1]) - Math.max(from, range[0])) / (end - from) : 1;
      keys.forEach((key, column) => { sums[rows.thread[row]][column] += rows[key][row] * inside; });
    }
    const most = Math.max(1, ...sums.map(([cpu]) => cpu));
    const order = sums.map((_, thread) => thread).filter((thread) => chosen.size === 0 || chosen.has(thread))
      .sort((a, b) => sums[b][0] - sums[a][0] || sums[b][1] - sums[a][1] || a - b).slice(0, MAX_ROWS);
    fill_table(document.getElementById('by-thread'), ['CPU', 'Run queue', 'Blocked', 'Thread'], order.map((thread) =>
      [sums[thread][0] / most, ...sums[thread].map(format_time), `${threads.name[thread]} (${threads.tid[thread]})`]));
  }

  choose_all() {
    this.selection.threads.clear();
    this.selection.range = null;
    this.timeline.mark();
    this.update();
  }

  listen() {
    document.getElementById('all').addEventListener('click', () => this.choose_all());
    document.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === 'Escape') return this.choose_all();
      if (event.target instanceof HTMLInputElement) return;
      if (event.key === '/') {
        document.getElementById('thread-search').focus();
        event.preventDefault();
      }
      // 1, 2, 3: the pages.
      document.querySelectorAll('#links a')[Number(event.key) - 1]?.click();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.colours.refresh();
      this.timeline.draw();
    });
  }
}

new Overview(load_profile(document.getElementById('profile').textContent));
document.documentElement.dataset.ready = 'yes';
