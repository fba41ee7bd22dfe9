// Which rows count, by which weight, and what that makes per node of the stack tree.

import { STATES } from './profile.js';
import { share_in } from './spans.js';

export function make_selection(profile) {
  return {
    weight: profile.weight,
    states: STATES.map(() => true),
    threads: new Set(),  // empty: all
    range: null,  // [from, to) in slices; null: all
  };
}

// Calls `visit(row, weight)` for the rows that are selected and weigh anything.
export function for_each_selected(profile, selection, key, visit) {
  const { rows } = profile;
  const column = rows[key];
  for (let row = 0; row < column.length; ++row) {
    if (column[row] === 0 || rows.node[row] < 0 || !selection.states[rows.state[row]]) continue;
    const thread = rows.thread[row];
    if (selection.threads.size > 0 && !selection.threads.has(thread)) continue;
    const share = selection.range ? share_in(profile, row, selection.range) : 1;
    if (share > 0) visit(row, column[row] * share);
  }
}

// What the selection weighs by another weight.
export function sum_weight(profile, selection, key) {
  let sum = 0;
  for_each_selected(profile, selection, key, (row, weight) => {
    if (!profile.threads.base?.[profile.rows.thread[row]]) sum += weight;
  });
  return sum;
}

// Self weight per node, in all and per state; of a base that the profile is compared with apart, as
// if it had been recorded for as long.
export function sum_rows(profile, selection) {
  const { rows } = profile;
  const nodes = profile.node_parent.length;
  const sums = {
    self: new Float64Array(nodes),
    base: profile.threads.base ? new Float64Array(nodes) : null,
    states: STATES.map(() => new Float64Array(nodes)),
  };
  const scale = profile.base_scales?.[selection.weight === 'samples' ? 'samples' : 'time'];
  for_each_selected(profile, selection, selection.weight, (row, weight) => {
    const node = rows.node[row];
    if (sums.base && profile.threads.base[rows.thread[row]]) {
      sums.base[node] += weight * scale;
    } else {
      sums.self[node] += weight;
      sums.states[rows.state[row]][node] += weight;
    }
  });
  return sums;
}
