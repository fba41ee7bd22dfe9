// How long the calls of a traced function take: a histogram with limits (above p95 unless they are
// chosen), the samples that are taken in the calls within them or in the others, and below the heat map
// of threads one of seconds and durations.

import { element, format_count, format_percent, format_time } from '../data/text.js';
import { css_colour } from '../views/colours.js';
import { is_between, PARTS } from './call_parts.js';
import { count_chosen, for_each_call, place_of_duration, quantile_of, sum_calls } from './call_sums.js';
import { Histogram } from './histogram.js';

const QUANTILES = [['p50', 0.5], ['p90', 0.9], ['p95', 0.95], ['p99', 0.99], ['p99.9', 0.999]];
const HEAT_ROWS = 40;

function text_of_limits({ from, to }) {
  return to === null ? `above ${format_time(from)}` : `from ${format_time(from)} to ${format_time(to)}`;
}

export class LatencyPane {
  // `address`: as of_address() returned it. `events`: changed(): another function, limit or part;
  // narrowed(): samples outside of calls are left out from now on.
  constructor(model, address, events) {
    Object.assign(this, { model, events });
    this.choice = document.getElementById('call-function');
    this.facts = document.getElementById('call-facts');
    this.heat = document.getElementById('call-heat');
    this.heat_lane = document.getElementById('call-lane');
    this.tab = document.querySelector('#panes [value=latency]');
    this.histogram = new Histogram(document.getElementById('histogram'), (limits) => this.set_limits(limits));
    this.kept = [];  // filters that stay while another one is chosen
    this.read(address);
    this.choice.addEventListener('change', () => this.set_limits(null));
    this.buttons = PARTS.map(({ key, label }) => {
      const button = element('button', label, { type: 'button', value: key });
      button.addEventListener('click', () => this.set_part(key));
      return button;
    });
    document.getElementById('call-parts').append(...this.buttons);
    document.getElementById('call-keep').addEventListener('click', () => this.keep());
  }

  // What an address says wrongly is left out.
  read({ calls, part, from, to }) {
    this.wanted_name = calls;  // until functions are known
    this.part = PARTS.some(({ key }) => key === part) ? part : 'all';
    const [low, high] = [Number(from), Number(to)];
    this.chosen = low > 0 ? { from: low, to: high > low ? high : null } : null;  // nanoseconds; null: above p95
  }

  of_address() {
    const { calls } = this.model;
    const { from, to } = this.chosen ?? {};
    const text = (value) => value ? String(Math.round(value)) : '';
    return { calls: this.func > 0 ? calls[this.func].name : '', part: this.part === 'all' ? '' : this.part, from: text(from), to: text(to) };
  }

  get func() {
    return Math.max(0, this.choice.selectedIndex);
  }

  set_limits(limits) {
    this.chosen = limits;
    this.events.changed();
  }

  set_part(part) {
    const narrows = this.part === 'all' && part !== 'all';
    this.part = part;
    if (narrows) this.events.narrowed();
    this.events.changed();
  }

  toggle_slow() {
    if (this.model.calls.length > 0) this.set_part(this.part === 'slow' ? 'all' : 'slow');
  }

  // The next filter is chosen among what this one leaves.
  keep() {
    const filter = this.filter();
    if (!filter) return;
    this.kept.push(filter);
    this.set_part('all');
  }

  // { func, part, limits }, as choose_sets() takes it; null: all samples.
  filter() {
    if (this.part === 'all' || this.model.calls.length === 0) return null;
    return { func: this.func, part: this.part, limits: this.limits ?? { from: Infinity, to: null } };
  }

  // With a text for each, and what removes it.
  list_filters() {
    const filters = this.kept.map((filter) => ({ ...filter, clear: () => this.kept.splice(this.kept.indexOf(filter), 1) }));
    const last = this.filter();
    if (last) filters.push({ ...last, clear: () => { this.part = 'all'; } });
    return filters.map((filter) => ({ ...filter, text: this.text_of_filter(filter) }));
  }

  text_of_filter({ func, part, limits }) {
    const { name } = this.model.calls[func];
    if (part === 'within') return `in calls of ${name}`;
    if (limits.from === Infinity) return `in calls of ${name}: none yet`;
    const which = text_of_limits(limits);
    return { slow: `in calls of ${name} ${which}`, normal: `in calls of ${name} not ${which}`, difference: `calls of ${name} ${which}, and others` }[part];
  }

  // Of all functions, for a baseline.
  sums_of_all(window) {
    return this.model.calls.map((_, func) => sum_calls(this.model, window, func));
  }

  // Before everything that uses the filters. `baseline`: what sums_of_all() was, or null.
  measure(window, baseline) {
    const { calls } = this.model;
    this.tab.hidden = this.heat_lane.hidden = calls.length === 0;
    if (calls.length === 0) return;
    if (this.choice.options.length !== calls.length) {
      this.choice.replaceChildren(...calls.map(({ name }) => element('option', name)));
      this.choice.selectedIndex = Math.max(0, calls.findIndex(({ name }) => name === this.wanted_name));
    }
    this.sums = sum_calls(this.model, window, this.func);
    this.base = baseline?.[this.func] ?? null;
    const usual = quantile_of(this.sums, 0.95);
    this.limits = this.chosen ?? (usual === null ? null : { from: usual, to: null });
    const { chosen, all } = count_chosen(this.sums, (duration) => this.is_chosen(duration));
    this.slow = chosen;
    this.others = { calls: all.calls - chosen.calls, time: all.time - chosen.time };
  }

  is_chosen(duration) {
    return this.limits !== null && is_between(duration, this.limits);
  }

  show({ axis, is_open }) {
    const { calls } = this.model;
    if (calls.length === 0) return;
    this.heat_lane.querySelector('b').textContent = `Calls of ${calls[this.func].name}`;
    this.draw_heat(axis);
    if (!is_open) return;
    this.show_facts();
    for (const button of this.buttons) button.setAttribute('aria-pressed', String(button.value === this.part));
    document.getElementById('call-keep').hidden = this.part === 'all' || this.part === 'difference' || calls.length < 2;
    this.histogram.show(this);
  }

  // [name, value, its value in the baseline or null]
  list_facts() {
    const { sums, base } = this;
    const rate = ({ calls, traced }) => traced > 0 ? (calls * 1e9 / traced).toFixed(1) : '—';
    const at = (of, share) => of.calls > 0 ? format_time(quantile_of(of, share)) : '—';
    return [['calls', format_count(sums.calls), null], ['a second', rate(sums), base && rate(base)],
            ...QUANTILES.map(([name, share]) => [name, at(sums, share), base && at(base, share)])];
  }

  show_facts() {
    const list = element('dl');
    list.append(...this.list_facts().map(([name, value, was]) => {
      const fact = element('div');
      fact.append(element('dt', name), element('dd', value));
      if (was !== null) fact.append(element('dd', `was ${was}`, { class: 'was' }));
      return fact;
    }));
    this.facts.replaceChildren(list, element('p', this.text_of_chosen()));
  }

  text_of_chosen() {
    const { sums, slow, others, limits } = this;
    const { is_traced, reason } = this.model.calls[this.func];
    if (reason !== '') return `Not traced: ${reason}`;
    if (!is_traced && sums.calls === 0) return 'It is not traced yet.';
    if (sums.calls === 0) return 'No call has ended in this time.';
    const text = text_of_limits(limits);
    return `${text[0].toUpperCase()}${text.slice(1)}${this.chosen ? '' : ' (p95)'}: ` +
      `${format_percent(slow.calls, sums.calls)} of the calls, ${format_percent(slow.time, slow.time + others.time)} of their time.`;
  }

  // Columns are seconds, rows durations, short ones at the bottom; chosen calls in the colour of matches.
  draw_heat(axis) {
    const { heat, model } = this;
    const visit = (act) => for_each_call(model, axis, this.func, act);
    let [least, most] = [Infinity, -Infinity];
    visit((_, place) => {
      least = Math.min(least, place);
      most = Math.max(most, place);
    });
    const step = Math.max(0.1, (most - least + 0.01) / HEAT_ROWS);
    const row_of = (place) => HEAT_ROWS - 1 - Math.min(HEAT_ROWS - 1, Math.floor((place - least) / step));
    const cells = new Float64Array(axis.count * HEAT_ROWS);
    visit((at, place, calls) => { cells[row_of(place) * axis.count + at] += calls; });
    const peak = cells.reduce((all, value) => Math.max(all, value), 0);
    const limit_row = (duration) => row_of(Math.max(least, place_of_duration(duration)));
    const slow_row = this.limits ? limit_row(this.limits.from) : -1;
    const end_row = this.limits?.to ? limit_row(this.limits.to) : 0;
    const [usual, slow] = [css_colour('accent'), css_colour('mark')];
    heat.width = axis.count;
    heat.height = HEAT_ROWS;
    const context = heat.getContext('2d');
    cells.forEach((calls, cell) => {
      if (calls === 0) return;
      const row = Math.floor(cell / axis.count);
      context.globalAlpha = 0.25 + 0.75 * Math.sqrt(calls / peak);
      context.fillStyle = row < slow_row && row >= end_row ? slow : usual;
      context.fillRect(cell % axis.count, row, 1, 1);
    });
    this.heat_lane.querySelector('small').textContent = peak === 0 ? 'no calls' : `${format_time(2 ** least)} (bottom) to ${format_time(2 ** most)}`;
  }
}
