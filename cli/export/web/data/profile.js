// The profile that the page was made with (cli/export/page_data.cc writes it), as typed columns.

import { base_name } from './text.js';

export const STATES = [
  { key: 'running', label: 'run' },
  { key: 'runnable', label: 'wait for a CPU' },
  { key: 'blocked', label: 'are blocked' },
  { key: 'unknown', label: 'unknown' },
];

export const WEIGHTS = [
  { key: 'cpu', label: 'CPU time' },
  { key: 'samples', label: 'samples' },
  { key: 'wall', label: 'wall time' },
  { key: 'blocked', label: 'blocked time' },
  { key: 'runqueue', label: 'run-queue time' },
];

// What the runtime of a language does for itself: `work` of a row, 0 is the program's own.
export const WORKS = ['', 'garbage collection', 'compiler', 'virtual machine'];

export const NO_FUNCTION = -1;

// What a thread did in all its rows, in nanoseconds.
function sum_threads(threads, rows) {
  const sums = { cpu: [], runqueue: [], blocked: [], samples: [] };
  for (const [key, sum] of Object.entries(sums)) {
    sum.push(...new Array(threads.name.length).fill(0));
    for (let row = 0; row < rows.thread.length; ++row) sum[rows.thread[row]] += rows[key][row];
  }
  return sums;
}

// What the base of a comparison is multiplied with, by weight: it was recorded for another time, and its
// samples were taken at other intervals.
function base_scales({ base_scale = 1, processes, threads }) {
  const intervals = [0, 1].map((base) => {
    const thread = threads.base?.indexOf(base) ?? -1;
    return thread < 0 ? 0 : processes[threads.process[thread]].interval_ns;
  });
  const [now, before] = intervals;
  return { time: base_scale, samples: now > 0 && before > 0 ? base_scale * before / now : base_scale };
}

export function load_profile(text) {
  const data = JSON.parse(text);
  if (data.format !== 1) throw new Error(`profile format ${data.format} is not 1`);
  const rows = {};
  for (const [name, column] of Object.entries(data.rows)) rows[name] = Float64Array.from(column);
  const total_of = (name) => data.processes.reduce((sum, process) => sum + (process.totals[name] ?? 0), 0);
  return {
    ...data,
    rows,
    all_functions: Int32Array.from(data.nodes.function),  // by node, before any view of the profile
    slice_ns: data.duration_ns / data.slices,
    base_scales: base_scales(data),
    line_parent: Int32Array.from(data.lines.parent),
    line_node: Int32Array.from(data.lines.node),
    line_number: Int32Array.from(data.lines.line),
    leaf_node: Int32Array.from(data.leaves.node),  // by what `leaf` of a row says
    sources: data.sources ?? {},
    node_parent: Int32Array.from(data.nodes.parent),
    node_function: Int32Array.from(data.nodes.function),
    module_names: data.modules.map(base_name),
    thread_sums: sum_threads(data.threads, rows),
    total_of,
  };
}
