// What one thread did in order of time, as boxes.

import { times_of } from './spans.js';

// The rows of a thread as [begin, end, node], without overlaps. Lengths are exact, and so is the end
// of the last row; others are told by ticks, which are late on a busy machine. A row that overlaps
// the next one therefore ends, and begins, earlier: into the gap that its own lateness has left.
function order_rows(profile, thread) {
  const { rows } = profile;
  const spans = [];
  for (let row = 0; row < rows.thread.length; ++row) {
    if (rows.thread[row] !== thread || rows.node[row] < 0) continue;
    const [begin, end] = times_of(profile, row);
    if (end > begin) spans.push([begin, end, rows.node[row]]);
  }
  spans.sort((a, b) => a[1] - b[1]);
  let after = Infinity;
  for (const span of spans.toReversed()) {
    const late = Math.max(0, span[1] - after);
    span[0] -= late;
    span[1] -= late;
    after = span[0];
  }
  return spans.filter(([, end]) => end > 0).map(([begin, end, node]) => [Math.max(0, begin), end, node]);
}

function functions_to(profile, node) {
  const path = [];
  for (let at = node; at >= 0; at = profile.node_parent[at]) path.unshift(profile.node_function[at]);
  return path;
}

// Per depth, boxes { begin, end, func, depth } from left to right: equal frames of consecutive rows are one. What a
// thread does between two samples may be in no row, but its callers are the same if they are before and after it.
export function make_chart(profile, thread) {
  const levels = [];
  const paths = new Map();
  let before = [];
  let last_end = -Infinity;
  const interval = 2 * Math.max(...profile.processes.map(({ interval_ns }) => interval_ns));
  for (const [begin, end, node] of order_rows(profile, thread)) {
    if (!paths.has(node)) paths.set(node, functions_to(profile, node));
    const path = paths.get(node);
    const gap = begin - last_end;
    let same = gap <= interval;
    path.forEach((func, depth) => {
      const level = levels[depth] ??= [];
      same &&= before[depth] === func && (gap <= profile.slice_ns || depth + 1 < path.length);
      if (same) level.at(-1).end = end;
      else level.push({ begin, end, func, depth });
    });
    before = path;
    last_end = end;
  }
  return levels;
}

// The index of the first box of a level that ends after `time`.
export function first_after(level, time) {
  let low = 0;
  let high = level.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (level[middle].end > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
