// Short tables: shares drawn behind the first columns, numbers, and a text that may lead somewhere.

import { element, format_time } from '../data/text.js';

const TABLE_ROWS = 100;

function make_row([share, numbers, text, target, func]) {
  const row = element('tr');
  row.append(...numbers.map((number) => element('td', number, { class: 'number', title: number })));
  [share].flat().forEach((part, column) => row.children[column]?.style.setProperty('--share', `${Math.min(100, 100 * part)}%`));
  const cell = element('td', target ? '' : text, { title: text });
  if (typeof target === 'string') cell.append(element('a', text, { href: target }));
  if (typeof target === 'function') {
    const button = element('button', text, { type: 'button' });
    button.addEventListener('click', target);
    if (func !== undefined) button.dataset.func = func;
    cell.append(button);
  }
  row.append(cell);
  return row;
}

// Rows of [share or shares, [number texts], text, target, func]: null, the address of a link, or what a button does; the
// function that it stands for, if any.
export function make_table(heads, rows) {
  const table = element('table');
  const head = element('tr');
  head.append(...heads.map((text, column) =>
    element('th', text, { scope: 'col', class: column < heads.length - 1 ? 'number' : '' })));
  const body = rows.slice(0, TABLE_ROWS).map(make_row);
  if (rows.length === 0) {
    body.push(element('tr'));
    body[0].append(element('td', 'nothing', { colspan: heads.length }));
  }
  const parts = [element('thead'), element('tbody')];
  parts[0].append(head);
  parts[1].append(...body);
  table.append(...parts);
  return table;
}

export function lock_text(wanted, holder) {
  return `${wanted} — held in ${holder === '' ? 'what was not sampled' : holder}`;
}

// A line for each circle of threads that wait for each other.
export function deadlock_lines(deadlocks) {
  return deadlocks.map(({ text, waited_ns }) =>
    element('p', `deadlock: ${text} (for ${format_time(waited_ns)})`, { class: 'deadlock' }));
}
