// What threads waited for that another one held, and what that one did meanwhile.

import { caller_of } from '../data/waits.js';
import { for_each_row } from './sums.js';

// [{ lock, owner, doing, weight }], longest first. `owner`: "worker 4711" or ''. `doing`: the
// function that its owner was in most, in the seconds in which somebody waited; or ''.
export function find_locks(model, window, selection) {
  const waits = new Map();
  for_each_row(model, window, selection, (rows, row, share) => {
    if (rows.wait[row] < 0) return;
    const wait = waits.get(rows.wait[row]) ?? { weight: 0, seconds: new Set() };
    wait.weight += rows.blocked[row] * share;
    if (rows.second) wait.seconds.add(rows.second[row]);
    waits.set(rows.wait[row], wait);
  });
  return [...waits].map(([index, { weight, seconds }]) => {
    const { lock, owner } = model.waits[index];
    return {
      lock, weight,
      owner: owner === null ? '' : `${model.threads.name[owner]} ${model.threads.tid[owner]}`,
      doing: owner === null ? '' : find_doing(model, owner, seconds),
    };
  }).sort((a, b) => b.weight - a.weight);
}

function find_doing(model, thread, seconds) {
  const { rows } = model;
  const by_caller = new Map();
  for (let row = 0; row < rows.count; ++row) {
    if (rows.thread[row] !== thread || !seconds.has(rows.second[row])) continue;
    by_caller.set(rows.node[row], (by_caller.get(rows.node[row]) ?? 0) + rows.wall[row]);
  }
  const names = new Map();
  for (const [node, wall] of by_caller) {
    const name = caller_of(model, node);
    names.set(name, (names.get(name) ?? 0) + wall);
  }
  return [...names].reduce((most, entry) => entry[1] > most[1] ? entry : most, ['', 0])[0];
}
