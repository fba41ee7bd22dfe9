// What stands above every page: the recording, its totals, what it lacks.

import { WORKS } from '../data/profile.js';
import { element, format_count, format_percent, format_time } from '../data/text.js';

function show_warnings(warnings) {
  const box = document.getElementById('warnings');
  box.hidden = warnings.length === 0;
  box.querySelector('summary').textContent =
    `${warnings.length} ${warnings.length === 1 ? 'note' : 'notes'} about this recording`;
  box.querySelector('ul').replaceChildren(...warnings.map((line) => element('li', line)));
}

// [name, share of the CPU time] of what runtimes did for themselves.
function machine_facts({ rows, threads }) {
  const sums = WORKS.map(() => 0);
  for (let row = 0; row < (rows.work ?? []).length; ++row) {
    if (!threads.base?.[rows.thread[row]]) sums[rows.work[row]] += rows.cpu[row];
  }
  const whole = sums.reduce((all, value) => all + value, 0);
  return WORKS.map((name, work) => [name, format_percent(sums[work], whole)]).filter((_, work) => work > 0 && sums[work] > 0);
}

// Says what the base was multiplied with, and why.
function scale_facts({ base_scales: { time, samples }, duration_ns }) {
  const facts = [];
  if (time !== 1) facts.push(['before', `× ${time.toFixed(2)}: recorded for ${format_time(duration_ns / time)}`]);
  if (samples !== time) facts.push(['samples before', `× ${samples.toFixed(2)}: taken at another rate`]);
  return facts;
}

export function show_heading(profile) {
  document.title = `${profile.title} – swipr`;
  document.getElementById('title').textContent = profile.title;
  const sums = profile.thread_sums;
  const own = profile.threads.name.map((_, thread) => !profile.threads.base?.[thread]);
  const sum = (column) => column.reduce((all, value, thread) => all + (own[thread] ? value : 0), 0);
  const facts = [
    ['recorded', format_time(profile.duration_ns)],
    ['CPU', format_time(sum(sums.cpu))],
    ...machine_facts(profile),
    ['run queue', format_time(sum(sums.runqueue))],
    ['blocked', format_time(sum(sums.blocked))],
    ['threads', format_count(own.filter(Boolean).length)],
    ['samples', format_count(sum(sums.samples))],
    ['dropped', format_count(profile.total_of('samples_dropped'))],
  ];
  if (profile.threads.base) facts.unshift(['red', 'more than before'], ['blue', 'less']);
  facts.push(...scale_facts(profile));
  document.getElementById('totals').replaceChildren(...facts.map(([name, value]) => {
    const fact = element('div');
    fact.append(element('dt', name), element('dd', value));
    return fact;
  }));
  show_warnings(profile.warnings);
}
