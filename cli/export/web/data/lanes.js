// Threads in the order in which they are shown, in groups, and what each did when.

import { STATES } from './profile.js';
import { for_each_slice, parts_of } from './spans.js';

// Up to so many threads, groups are open.
const FEW = 12;

function busier(sums, a, b) {
  return sums.cpu[b] - sums.cpu[a] || sums.runqueue[b] - sums.runqueue[a] || sums.samples[b] - sums.samples[a] || a - b;
}

// "worker-12" and "worker-3" are of one kind, also in different processes of one program.
function kind_of({ threads, processes }, thread) {
  const { command } = processes[threads.process[thread]];
  return `${threads.base?.[thread] ? 'base: ' : ''}${command} ${threads.name[thread].replace(/\d+/g, '#')}`;
}

// [{ name, threads }], busiest first; threads of one kind are together.
export function group_threads(profile) {
  const { threads, thread_sums: sums } = profile;
  const groups = new Map();
  const order = threads.name.map((_, thread) => thread).sort((a, b) => busier(sums, a, b));
  for (const thread of order) {
    const kind = kind_of(profile, thread);
    const group = groups.get(kind);
    if (group) group.threads.push(thread);
    else groups.set(kind, { kind, threads: [thread], open: threads.name.length <= FEW });
  }
  for (const group of groups.values()) {
    const names = new Set(group.threads.map((thread) => threads.name[thread]));
    const [first] = names;
    group.name = (threads.base?.[group.threads[0]] ? 'base: ' : '') +
                 (names.size === 1 ? first : first.replace(/[-_ .:#/]*\d+.*$/, '') || first);
    group.cpu = group.threads.reduce((sum, thread) => sum + sums.cpu[thread], 0);
  }
  return [...groups.values()].sort((a, b) => b.cpu - a.cpu || a.threads[0] - b.threads[0]);
}

// Moves time between `put_off` and a slice until it is as full as it can be.
function fill(lane, slice, slice_ns, put_off) {
  let room = slice_ns - lane.reduce((sum, column) => sum + column[slice], 0);
  lane.forEach((column, state) => {
    const moved = room < 0 ? Math.max(room, -column[slice]) : Math.min(room, put_off[state]);
    column[slice] += moved;
    put_off[state] -= moved;
    room -= moved;
  });
}

// CPU time of short bursts is recorded with the first stack that is taken in one: it belongs into
// the gaps before it. A slice holds no more than its length.
function level(lane, slice_ns, first) {
  const put_off = lane.map(() => 0);
  for (let slice = lane[0].length - 1; slice >= first; --slice) fill(lane, slice, slice_ns, put_off);
  for (let slice = first; slice < lane[0].length && put_off.some((time) => time > 0); ++slice) {
    fill(lane, slice, slice_ns, put_off);
  }
}

// What threads did per slice and state, in nanoseconds of one thread.
export class Lanes {
  constructor(profile) {
    this.profile = profile;
    this.known = new Map();
    this.rows = profile.threads.name.map(() => []);
    profile.rows.thread.forEach((thread, row) => this.rows[thread].push(row));
  }

  of_thread(thread) {
    let lane = this.known.get(thread);
    if (lane) return lane;
    lane = STATES.map(() => new Float64Array(this.profile.slices));
    for (const row of this.rows[thread]) {
      const parts = parts_of(this.profile.rows, row);
      for_each_slice(this.profile, row, (slice, share) => {
        for (let state = 0; state < parts.length; ++state) lane[state][slice] += parts[state] * share;
      });
    }
    const first = this.rows[thread].reduce((least, row) => Math.min(least, this.profile.rows.first[row]), Infinity);
    if (Number.isFinite(first)) level(lane, this.profile.slice_ns, first);
    this.known.set(thread, lane);
    return lane;
  }

  of_threads(threads) {
    if (threads.length === 1) return this.of_thread(threads[0]);
    const sum = STATES.map(() => new Float64Array(this.profile.slices));
    for (const thread of threads) {
      this.of_thread(thread).forEach((column, state) => {
        for (let slice = 0; slice < column.length; ++slice) sum[state][slice] += column[slice] / threads.length;
      });
    }
    return sum;
  }
}
