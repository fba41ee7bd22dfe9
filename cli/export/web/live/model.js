// What is known of the process that is followed: tables that grow, and rows of the last minutes, as
// the events of cli/commands/live/live_feed.h bring them. Times are nanoseconds.

import { base_name } from '../data/text.js';
import { Columns } from './columns.js';

export const BINS = 50;  // parts of a second
export const NO_BIN = 255;  // all of the second
export const KEPT_SECONDS = 600;
const MAX_ROWS = 2_000_000;
const MAX_OLDER = 100_000;
const MAX_CALL_ROWS = 500_000;
const VALUES = 11;  // of a row in an event
const NANOSECONDS_PER_MICROSECOND = 1000;

const WEIGHT_COLUMNS = { samples: Float64Array, cpu: Float64Array, runqueue: Float64Array, wall: Float64Array, blocked: Float64Array };
const KEY_COLUMNS = { thread: Int32Array, node: Int32Array, state: Uint8Array, wait: Int32Array, calls: Int32Array };

// Three numbers for each call.
function read_call_set(list) {
  const set = [];
  for (let at = 0; at < list.length; at += 3) set.push({ func: list[at], bucket: list[at + 1], is_open: list[at + 2] === 1 });
  return set;
}

export class Model {
  constructor() {
    this.rows = new Columns({ second: Int32Array, bin: Uint8Array, ...KEY_COLUMNS, ...WEIGHT_COLUMNS });
    this.older = new Columns({ ...KEY_COLUMNS, ...WEIGHT_COLUMNS });  // sums of rows that are forgotten
    this.nodes = new Columns({ parent: Int32Array, function: Int32Array, seen: Float64Array });
    this.functions = { name: [], module: [], file: [], line: [], language: [], code: [] };
    this.threads = { name: [], tid: [] };
    this.modules = [];
    this.module_names = [];
    this.own = [];
    this.waits = [];
    this.call_sets = [];  // of rows: [{ func, bucket, is_open }]
    this.calls = [];  // functions that are traced: { name, is_traced, reason }
    this.call_rows = new Columns({ second: Int32Array, function: Int32Array, bucket: Int32Array, calls: Float64Array });
    this.keeps_all = false;  // while somebody looks at a time that would be forgotten
    this.reset();
  }

  // Before the first event of a stream: it tells everything again.
  reset() {
    for (const columns of [this.rows, this.older, this.nodes, this.call_rows]) columns.clear();
    for (const list of [...Object.values(this.functions), ...Object.values(this.threads), this.modules, this.module_names,
                        this.own, this.waits, this.call_sets, this.calls]) list.length = 0;
    this.older_index = new Map();
    this.left_out = 0;
    Object.assign(this, { title: '', interval_ns: 0, now: 0, dropped: 0, ended: false, behind: true, deadlocks: [] });
  }

  // Columns of the tables in the form that data/ uses.
  get node_parent() {
    return this.nodes.column('parent');
  }
  get node_function() {
    return this.nodes.column('function');
  }

  take(event) {
    this.title = event.title;
    this.interval_ns = event.interval_ns;
    this.now = event.now_ns / 1e9;
    this.dropped = event.dropped;
    this.ended = event.ended;
    this.behind = event.behind;
    this.deadlocks = event.deadlocks;
    for (const [path, is_own] of event.modules ?? []) {
      this.modules.push(path);
      this.module_names.push(base_name(path));
      this.own.push(is_own);
    }
    for (const entry of event.functions ?? []) {
      Object.values(this.functions).forEach((column, place) => column.push(entry[place]));
    }
    this.take_nodes(event.nodes ?? []);
    for (const [thread, tid, name] of event.threads ?? []) {
      this.threads.tid[thread] = tid;
      this.threads.name[thread] = name;
    }
    for (const [lock, owner] of event.waits ?? []) this.waits.push({ lock, owner });
    for (const set of event.call_sets ?? []) this.call_sets.push(read_call_set(set));
    if (event.begins) {
      this.rows.clear();
      this.older.clear();
      this.older_index.clear();
      this.nodes.seen.fill(0);
    }
    this.take_rows(event.rows ?? []);
    if (event.call_rows) this.take_calls(event);
    this.forget();
  }

  take_calls({ calls, calls_begin, call_rows: list }) {
    if (calls) this.calls = calls.map(([name, is_traced, reason]) => ({ name, is_traced, reason }));
    const { call_rows: rows } = this;
    if (calls_begin) rows.clear();
    rows.reserve(list.length / 4);
    for (let at = 0; at < list.length; at += 4) {
      rows.second[rows.count] = list[at];
      rows.function[rows.count] = list[at + 1];
      rows.bucket[rows.count] = list[at + 2];
      rows.calls[rows.count] = list[at + 3];
      ++rows.count;
    }
    const oldest = this.keeps_all ? 0 : this.now - KEPT_SECONDS;
    let gone = 0;
    while (gone < rows.count && (rows.second[gone] < oldest || gone < rows.count - MAX_CALL_ROWS)) ++gone;
    if (gone > rows.count / 8) rows.drop_first(gone);
  }

  take_nodes(list) {
    const { nodes } = this;
    nodes.reserve(list.length / 2);
    for (let at = 0; at < list.length; at += 2) {
      nodes.parent[nodes.count] = list[at];
      nodes.function[nodes.count] = list[at + 1];
      nodes.seen[nodes.count] = 0;
      ++nodes.count;
    }
  }

  take_rows(list) {
    const { rows, nodes } = this;
    rows.reserve(list.length / VALUES);
    for (let at = 0; at < list.length; at += VALUES) {
      const row = rows.count;
      rows.second[row] = list[at];
      rows.bin[row] = list[at + 1];
      rows.thread[row] = list[at + 2];
      rows.node[row] = list[at + 3];
      rows.state[row] = list[at + 4];
      rows.wait[row] = list[at + 5];
      rows.calls[row] = list[at + 6];
      rows.samples[row] = list[at + 7];
      rows.cpu[row] = list[at + 8] * NANOSECONDS_PER_MICROSECOND;
      rows.runqueue[row] = list[at + 9] * NANOSECONDS_PER_MICROSECOND;
      rows.wall[row] = list[at + 10] * NANOSECONDS_PER_MICROSECOND;
      rows.blocked[row] = Math.max(0, rows.wall[row] - rows.cpu[row] - rows.runqueue[row]);
      nodes.seen[rows.node[row]] += rows.samples[row];
      if (rows.second[row] < 0) this.add_older(row);
      else ++rows.count;
    }
  }

  add_older(row) {
    const { rows, older } = this;
    const key = Object.keys(KEY_COLUMNS).map((name) => rows[name][row]).join(' ');
    let at = this.older_index.get(key);
    if (at === undefined) {
      if (older.count >= MAX_OLDER) {
        this.left_out += rows.samples[row];
        return;
      }
      at = older.count;
      older.reserve(1);
      for (const name of Object.keys(KEY_COLUMNS)) older[name][at] = rows[name][row];
      for (const name of Object.keys(WEIGHT_COLUMNS)) older[name][at] = 0;
      ++older.count;
      this.older_index.set(key, at);
    }
    for (const name of Object.keys(WEIGHT_COLUMNS)) older[name][at] += rows[name][row];
  }

  // Only from time to time, because all rows are moved.
  forget() {
    const { rows } = this;
    const oldest = this.keeps_all ? 0 : this.now - KEPT_SECONDS;
    const too_many = rows.count - MAX_ROWS;
    let gone = 0;
    while (gone < rows.count && (rows.second[gone] < oldest || gone < too_many)) ++gone;
    if (gone < Math.max(1000, rows.count / 8)) return;
    for (let row = 0; row < gone; ++row) this.add_older(row);
    rows.drop_first(gone);
  }
}
