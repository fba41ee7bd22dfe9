// The functions of the selection, by self or total weight.

import { element, format_change, format_percent, format_weight } from '../data/text.js';

const MAX_ROWS = 200;

const COLUMNS = [
  { key: 'self', label: 'Self' },
  { key: 'total', label: 'Total' },
];
const DIFFERENCE = [
  { key: 'self_change', label: 'Self ±' },
  { key: 'total_change', label: 'Total ±' },
];

export class FunctionTable {
  // `chosen(func)` is called when a person picks a function, `sorted()` when another order.
  constructor(profile, chosen, sorted) {
    Object.assign(this, { profile, chosen, sorted });
    const section = document.getElementById('functions');
    this.head = section.querySelector('thead tr');
    this.body = section.querySelector('tbody');
    this.count = document.getElementById('function-count');
    this.columns = profile.threads.base ? DIFFERENCE : COLUMNS;
    this.order = this.columns[0].key;
    this.matched = null;
    this.make_head();
  }

  make_head() {
    this.heads = this.columns.map(({ key, label }) => {
      const cell = element('th', '', { class: 'number', scope: 'col' });
      const button = element('button', label, { type: 'button' });
      button.addEventListener('click', () => {
        this.sort_by(key);
        this.sorted();
      });
      cell.append(button);
      return { key, cell };
    });
    this.head.replaceChildren(...this.heads.map(({ cell }) => cell), element('th', 'Function', { scope: 'col' }));
  }

  // Without a known key by the first column.
  sort_by(key) {
    this.order = (this.columns.find((column) => column.key === key) ?? this.columns[0]).key;
    this.fill();
  }

  show(sums, whole, weight) {
    Object.assign(this, { sums, whole, weight });
    if (this.profile.threads.base) {
      sums.self_change = sums.self.map((own, func) => own - sums.base_self[func]);
      sums.total_change = sums.total.map((own, func) => own - sums.base_total[func]);
    }
    this.fill();
  }

  search(matched) {
    this.matched = matched;
    this.fill();
  }

  fill() {
    if (!this.sums) return;
    const values = this.sums[this.order];
    const size = (func) => Math.abs(values[func]);
    const all = [];
    for (let func = 0; func < values.length; ++func) {
      const weighs = this.sums.total[func] !== 0 || this.sums.base_total[func] !== 0;
      if (weighs && (this.matched === null || this.matched[func] === 1)) all.push(func);
    }
    all.sort((a, b) => size(b) - size(a) || this.sums.total[b] - this.sums.total[a] || a - b);
    for (const { key, cell } of this.heads) {
      if (key === this.order) cell.setAttribute('aria-sort', 'descending');
      else cell.removeAttribute('aria-sort');
    }
    this.count.textContent = all.length > MAX_ROWS ? `the first ${MAX_ROWS} of ${all.length.toLocaleString('en')}`
                                                   : String(all.length);
    this.body.replaceChildren(...all.slice(0, MAX_ROWS).map((func) => this.make_row(func)));
  }

  make_row(func) {
    const row = element('tr');
    for (const { key } of this.columns) {
      const value = this.sums[key][func];
      const text = this.profile.threads.base ? format_change(value, this.weight) : format_percent(value, this.whole);
      const cell = element('td', text, { class: 'number', title: format_weight(value, this.weight) });
      if (this.whole) cell.style.setProperty('--share', `${Math.min(100, 100 * Math.abs(value) / this.whole)}%`);
      row.append(cell);
    }
    const name = this.profile.functions.name[func];
    const cell = element('td');
    const button = element('button', name, { type: 'button', title: name, 'data-func': func });
    button.addEventListener('click', () => this.chosen(func));
    cell.append(button);
    row.append(cell);
    return row;
  }
}
