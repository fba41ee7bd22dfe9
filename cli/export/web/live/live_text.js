// What is said about all that is shown.

import { WEIGHTS } from '../data/profile.js';
import { element, format_count, format_time, format_weight } from '../data/text.js';

export function text_of_summary(tree, weight, window, compares_calls) {
  const of = weight === 'samples' ? '' : ` of ${WEIGHTS.find(({ key }) => key === weight).label}`;
  const whole = `${format_weight(tree.value[0], weight)}${of}`;
  if (compares_calls) return `${whole} in a slow call, ${format_weight(tree.base[0], weight)} in another one`;
  const time = window.has_older ? 'all ' : window.fading > 0 ? 'what fades ' : '';
  return `${whole} in ${time}${format_time(window.covered * 1e9)}`;
}

// `whole`: of sum_threads(), of all of the process.
export function show_totals(list, model, window, whole, threads) {
  const rate = (value) => (value / 1e9 / window.covered).toFixed(2);
  const facts = [
    ['CPU', rate(whole.cpu)], ['run queue', rate(whole.runqueue)], ['threads', format_count(threads)],
    ['samples', format_count(whole.samples)], ['ticks', `${Math.round(1e9 / model.interval_ns)} Hz`],
    ['dropped', format_count(model.dropped + model.left_out)],
  ];
  list.replaceChildren(...facts.map(([name, value]) => {
    const fact = element('div');
    fact.append(element('dt', name), element('dd', value));
    return fact;
  }));
}
