// What the rows of the model add up to: per node, per thread, per moment.

import { STATES } from '../data/profile.js';
import { BINS, NO_BIN } from './model.js';

const ANY_THREAD = new Set();

// Per node, 1 if it or one of its callers is a wanted one; null: all are. `matched`: per function,
// or null; `top`: a node, or -1.
export function mark_nodes(model, matched, top) {
  if (!matched && top < 0) return null;
  const { node_parent, node_function } = model;
  const marks = new Uint8Array(node_parent.length);
  const below = new Uint8Array(node_parent.length);
  const matches = new Uint8Array(node_parent.length);
  for (let node = 0; node < marks.length; ++node) {
    const parent = node_parent[node];
    below[node] = top < 0 || node === top || (parent >= 0 && below[parent] === 1) ? 1 : 0;
    matches[node] = !matched || matched[node_function[node]] === 1 || (parent >= 0 && matches[parent] === 1) ? 1 : 0;
    marks[node] = below[node] & matches[node];
  }
  return marks;
}

// Whether a row is of the threads (none: all) and of the call sets (call_parts.js; null: all).
export function is_selected({ thread, calls }, row, { threads, sets }) {
  if (threads.size > 0 && !threads.has(thread[row])) return false;
  return !sets || (calls[row] >= 0 && sets[calls[row]] === 1);
}

// Calls `visit(columns, row, share)` for the rows of the window that are selected.
export function for_each_row(model, window, selection, visit) {
  const { rows, older } = model;
  const { second, bin } = rows;
  for (let row = 0; row < rows.count; ++row) {
    if (!is_selected(rows, row, selection)) continue;
    const share = window.share(second[row], bin[row]);
    if (share > 0) visit(rows, row, share);
  }
  if (!window.has_older) return;
  for (let row = 0; row < older.count; ++row) {
    if (is_selected(older, row, selection)) visit(older, row, 1);
  }
}

// Self weight per node, in all and per state, as data/selection.js has it.
export function sum_nodes(model, window, selection) {
  const { weight } = selection;
  const nodes = model.nodes.count;
  const sums = { self: new Float64Array(nodes), base: null, states: STATES.map(() => new Float64Array(nodes)) };
  for_each_row(model, window, selection, (rows, row, share) => {
    const value = rows[weight][row] * share;
    if (value === 0) return;
    sums.self[rows.node[row]] += value;
    sums.states[rows.state[row]][rows.node[row]] += value;
  });
  return sums;
}

// What `slow` has for each of its calls, with what `normal` has for each of its own as the base.
export function compare_calls(slow, normal) {
  const per_call = ({ self }, calls) => self.map((value) => calls > 0 ? value / calls : 0);
  return {
    self: per_call(slow.sums, slow.calls), base: per_call(normal.sums, normal.calls),
    states: slow.sums.states.map((state) => per_call({ self: state }, slow.calls)),
  };
}

// How often each node has been seen, with what it called: an order in which neighbours stay.
export function rank_nodes(model) {
  const { node_parent } = model;
  const rank = model.nodes.column('seen').slice();
  for (let node = rank.length - 1; node >= 0; --node) if (node_parent[node] >= 0) rank[node_parent[node]] += rank[node];
  return rank;
}

// What each thread did in the window: { cpu, runqueue, blocked } per thread, in the call sets, and
// all together.
export function sum_threads(model, window, sets, marks) {
  const count = model.threads.tid.length;
  const sums = { cpu: new Float64Array(count), runqueue: new Float64Array(count), blocked: new Float64Array(count) };
  const whole = { cpu: 0, runqueue: 0, blocked: 0, samples: 0 };
  for_each_row(model, window, { threads: ANY_THREAD, sets: null }, (rows, row, share) => {
    for (const key of Object.keys(whole)) whole[key] += rows[key][row] * share;
    if ((marks && marks[rows.node[row]] === 0) || !is_selected(rows, row, { threads: ANY_THREAD, sets })) return;
    for (const key of Object.keys(sums)) sums[key][rows.thread[row]] += rows[key][row] * share;
  });
  return { sums, whole };
}

// The seconds [first, first + count) as a picture: `heat`, how many samples found the chosen threads
// running in each part of each second; `lanes`, per thread what it did in each second, by state.
export function sum_seconds(model, { first, count }, now, { threads, sets }, marks) {
  const heat = new Float32Array(count * BINS);
  const lanes = new Map();
  const { rows } = model;
  for (let row = 0; row < rows.count; ++row) {
    const at = rows.second[row] - first;
    if (at < 0 || at >= count || rows.second[row] > now) continue;
    if ((marks && marks[rows.node[row]] === 0) || !is_selected(rows, row, { threads: ANY_THREAD, sets })) continue;
    const thread = rows.thread[row];
    let lane = lanes.get(thread);
    if (!lane) lanes.set(thread, lane = STATES.map(() => new Float64Array(count)));
    lane[0][at] += rows.cpu[row];
    lane[1][at] += rows.runqueue[row];
    lane[2][at] += rows.blocked[row];
    if (rows.bin[row] !== NO_BIN && (threads.size === 0 || threads.has(thread))) {
      heat[at * BINS + rows.bin[row]] += rows.samples[row];
    }
  }
  return { heat, lanes };
}
