// The tables beside the functions: callers and callees of one function, waits, locks.

import { find_neighbours, NO_CALLER } from '../data/neighbours.js';
import { element, format_percent, format_time, format_weight } from '../data/text.js';
import { sum_waits } from '../data/waits.js';
import { deadlock_lines, make_table } from '../views/table.js';
import { refill } from './function_list.js';
import { find_locks } from './lock_sums.js';
import { sum_nodes } from './sums.js';

// Rows as make_table has them; their buttons keep the focus.
function fill_pane(pane, ...children) {
  const box = document.getElementById(pane);
  for (const table of children) {
    table.querySelectorAll?.('button').forEach((button) => { button.dataset.key = button.textContent; });
  }
  refill(box, children);
}

export class LivePanes {
  // `picked(func)`: a person picks a function.
  constructor(model, picked) {
    Object.assign(this, { model, picked });
  }

  // `view`: { func, profile, sums, window, selection }.
  show(pane, view) {
    if (pane === 'callers') this.show_callers(view);
    if (pane === 'waits') this.show_waits(view);
    if (pane === 'locks') this.show_locks(view);
  }

  show_callers({ func, profile, sums, selection }) {
    if (func === null) return fill_pane('callers', element('p', 'Choose a function: in the graph, or in the table of functions.'));
    const { weight } = selection;
    const { name } = this.model.functions;
    const found = find_neighbours(profile, sums, func);
    const whole = sums.self.reduce((all, own) => all + own, 0);
    const text = (part) => [part / (found.total || 1), [format_percent(part, found.total), format_weight(part, weight)]];
    const rows = (entries) => entries.map(({ key, weight: part }) =>
      [...text(part), key === NO_CALLER ? 'nobody: stacks begin here' : name[key], key === NO_CALLER ? null : () => this.picked(key)]);
    fill_pane('callers', element('h3', name[func]),
      element('p', `total ${format_weight(found.total, weight)} ${format_percent(found.total, whole)} · ` +
                   `self ${format_weight(found.self, weight)} ${format_percent(found.self, whole)}`),
      make_table(['Share', 'Weight', 'Called by'], rows(found.callers)),
      make_table(['Share', 'Weight', 'Calls'], [...found.self > 0 ? [[...text(found.self), '(self)', null]] : [], ...rows(found.callees)]));
  }

  show_waits({ profile, window, selection }) {
    const { self } = sum_nodes(this.model, window, { ...selection, weight: 'blocked' });
    const by_node = [...self].map((weight, node) => [node, weight]).filter(([, weight]) => weight > 0);
    const { waits, whole } = sum_waits(profile, by_node);
    const find = (name) => this.model.functions.name.indexOf(name);
    fill_pane('waits', element('p', `Threads were blocked for ${format_time(whole)}.`),
      make_table(['Share', 'Time', 'Waiting in, called by'], waits.map(({ call, caller, weight }) => {
        const func = find(caller);
        return [weight / whole, [format_percent(weight, whole), format_time(weight)], caller === '' ? call : `${call} ← ${caller}`,
                func < 0 ? null : () => this.picked(func)];
      })));
  }

  show_locks({ window, selection }) {
    const locks = find_locks(this.model, window, selection);
    const whole = locks.reduce((all, { weight }) => all + weight, 0);
    fill_pane('locks', ...deadlock_lines(this.model.deadlocks), element('p', locks.length === 0 ? 'No thread waited for a lock whose owner can be known.' : `Threads waited ${format_time(whole)} for locks.`),
      make_table(['Share', 'Time', 'Lock, and who held it'], locks.map(({ lock, owner, doing, weight }) =>
        [weight / whole, [format_percent(weight, whole), format_time(weight)],
         `${lock} — held by ${owner === '' ? 'a thread that is not known' : owner}${doing === '' ? '' : `, mostly in ${doing}`}`, null])));
  }
}
