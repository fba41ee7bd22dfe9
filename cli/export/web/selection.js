// Which rows count, by which weight, and what that makes per node of the stack tree.

import { STATES } from './profile.js';

export function make_selection(profile) {
  return {
    weight: profile.weight,
    states: STATES.map(() => true),
    threads: new Set(),  // empty: all
    range: null,  // [from, to) in slices; null: all
  };
}

// The part of a row's time within the range.
function share_in(first, last, [from, to]) {
  return Math.max(0, Math.min(last + 1, to) - Math.max(first, from)) / (last + 1 - first);
}

// Self weight per node, in all and per state; of a base that the profile is compared with apart.
export function sum_rows(profile, selection) {
  const { rows } = profile;
  const nodes = profile.node_parent.length;
  const sums = {
    self: new Float64Array(nodes),
    base: profile.threads.base ? new Float64Array(nodes) : null,
    states: STATES.map(() => new Float64Array(nodes)),
  };
  const column = rows[selection.weight];
  for (let row = 0; row < column.length; ++row) {
    if (column[row] === 0 || !selection.states[rows.state[row]]) continue;
    const thread = rows.thread[row];
    if (selection.threads.size > 0 && !selection.threads.has(thread)) continue;
    const share = selection.range ? share_in(rows.first[row], rows.last[row], selection.range) : 1;
    if (share === 0) continue;
    const weight = column[row] * share;
    const node = rows.node[row];
    if (sums.base && profile.threads.base[thread]) {
      sums.base[node] += weight;
    } else {
      sums.self[node] += weight;
      sums.states[rows.state[row]][node] += weight;
    }
  }
  return sums;
}
