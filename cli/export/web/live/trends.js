// How much of each of the last seconds some functions took.

import { is_selected } from './sums.js';

const SECONDS = 60;

// Per function of `functions` an array of shares, 0 to 1, oldest first: of self weight, or of total.
export function find_trends(model, now, selection, functions, counts_total) {
  const { weight } = selection;
  const last = Math.floor(now);  // the current second is not complete
  const first = Math.max(0, last - SECONDS);
  const count = last - first;
  const places = new Int32Array(model.functions.name.length).fill(-1);
  functions.forEach((func, place) => { places[func] = place; });
  const trends = functions.map(() => new Float64Array(count));
  const wholes = new Float64Array(count);
  const { rows, node_parent, node_function } = model;
  const seen = new Int32Array(functions.length).fill(-1);
  for (let row = 0; row < rows.count; ++row) {
    const at = rows.second[row] - first;
    const value = rows[weight][row];
    if (at < 0 || at >= count || value === 0 || !is_selected(rows, row, selection)) continue;
    wholes[at] += value;
    for (let node = rows.node[row]; node >= 0; node = counts_total ? node_parent[node] : -1) {
      const place = places[node_function[node]];
      if (place < 0 || seen[place] === row) continue;
      seen[place] = row;
      trends[place][at] += value;
    }
  }
  for (const trend of trends) trend.forEach((value, at) => { trend[at] = wholes[at] > 0 ? value / wholes[at] : 0; });
  return trends;
}
