// Who calls a function, what it calls, and which of its lines.

import { for_each_selected } from './selection.js';

function add(map, key, weight) {
  map.set(key, (map.get(key) ?? 0) + weight);
}

function sorted(map) {
  return [...map].map(([key, weight]) => ({ key, weight })).sort((a, b) => b.weight - a.weight || a.key - b.key);
}

// { total, self, callers, callees }: [{ key: function, weight }], heaviest first; NO_CALLER where
// stacks begin. Each stack counts once per caller and callee.
export const NO_CALLER = -1;

export function find_neighbours(profile, sums, func) {
  const { node_parent, node_function } = profile;
  const callers = new Map();
  const callees = new Map();
  let total = 0;
  let self = 0;
  for (let source = 0; source < node_parent.length; ++source) {
    const weight = sums.self[source];
    if (weight === 0) continue;
    const above = new Set();
    const below = new Set();
    let callee = null;
    for (let node = source; node >= 0; node = node_parent[node]) {
      if (node_function[node] === func) {
        if (callee !== null) below.add(callee);
        above.add(node_parent[node] < 0 ? NO_CALLER : node_function[node_parent[node]]);
      }
      callee = node_function[node];
    }
    if (above.size === 0) continue;
    total += weight;
    if (node_function[source] === func) self += weight;
    for (const caller of above) add(callers, caller, weight);
    for (const called of below) add(callees, called, weight);
  }
  return { total, self, callers: sorted(callers), callees: sorted(callees) };
}

// [{ line, self, total }] of a function, most total first; 0: not known. Stacks count once per line.
export function find_lines(profile, selection, func) {
  const { rows, leaf_node, line_parent, line_node, line_number } = profile;
  const own = new Float64Array(line_parent.length);
  for_each_selected(profile, selection, selection.weight, (row, weight) => {
    if (!profile.threads.base?.[rows.thread[row]]) own[leaf_node[rows.leaf[row]]] += weight;
  });
  const total = new Map();
  const self = new Map();
  for (let leaf = 0; leaf < own.length; ++leaf) {
    if (own[leaf] === 0) continue;
    const seen = new Set();
    for (let node = leaf; node >= 0; node = line_parent[node]) {
      if (profile.all_functions[line_node[node]] !== func) continue;
      seen.add(line_number[node]);
      if (node === leaf) add(self, line_number[node], own[leaf]);
    }
    for (const line of seen) add(total, line, own[leaf]);
  }
  return sorted(total).map(({ key, weight }) => ({ line: key, total: weight, self: self.get(key) ?? 0 }));
}
