// How long the calls of a traced function take: a histogram on a logarithmic axis with a threshold that
// can be dragged (p95 unless it was), and below the heat map of threads one of seconds and durations.

import { element, format_count, format_percent, format_time } from '../data/text.js';
import { css_colour } from '../views/colours.js';
import { above, bar_of_duration, bars_of, duration_of_bar, for_each_call, make_scale, marks_of, place_of_duration, quantile_of, smooth, sum_calls } from './call_sums.js';

const QUANTILES = [['p50', 0.5], ['p90', 0.9], ['p95', 0.95], ['p99', 0.99], ['p99.9', 0.999]];
const HEAT_ROWS = 40;
const LABEL_WIDTH = 64;  // of a duration below the histogram, at most
const AXIS_HEIGHT = 18;
const LEAST_HEIGHT = 2;  // of a bar, so that few slow calls can be seen

// A context of a canvas that has as many pixels as the screen, and its size.
function context_of(canvas) {
  const scale = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.max(1, width * scale);
  canvas.height = Math.max(1, height * scale);
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  return { context, width, height };
}

export class LatencyPane {
  // `changed()`: another function or threshold.
  constructor(model, changed) {
    Object.assign(this, { model, changed });
    this.choice = document.getElementById('call-function');
    this.facts = document.getElementById('call-facts');
    this.canvas = document.getElementById('histogram');
    this.heat = document.getElementById('call-heat');
    this.heat_lane = document.getElementById('call-lane');
    this.tab = document.querySelector('#panes [value=latency]');
    this.threshold = null;  // nanoseconds; null: p95
    this.choice.addEventListener('change', () => this.set_threshold(null));
    this.canvas.addEventListener('pointerdown', (event) => this.drag(event));
    this.canvas.addEventListener('dblclick', () => this.set_threshold(null));
    this.canvas.addEventListener('keydown', (event) => {
      const factor = { ArrowLeft: 1 / 1.1, ArrowRight: 1.1 }[event.key];
      if (factor && this.limit) this.set_threshold(this.limit * factor);
      if (event.key === 'Home') this.set_threshold(null);
    });
  }

  get func() {
    return Math.max(0, this.choice.selectedIndex);
  }

  set_threshold(nanoseconds) {
    this.threshold = nanoseconds;
    this.changed();
  }

  // Of all functions, for a baseline.
  sums_of_all(window) {
    return this.model.calls.map((_, func) => sum_calls(this.model, window, func));
  }

  // `baseline`: what sums_of_all() was, or null.
  show({ window, axis, baseline, is_open }) {
    const { calls } = this.model;
    this.tab.hidden = this.heat_lane.hidden = calls.length === 0;
    if (calls.length === 0) return;
    if (this.choice.options.length !== calls.length) {
      this.choice.replaceChildren(...calls.map(({ name }) => element('option', name)));
    }
    this.sums = sum_calls(this.model, window, this.func);
    this.base = baseline?.[this.func] ?? null;
    this.limit = this.threshold ?? quantile_of(this.sums, 0.95);
    this.heat_lane.querySelector('b').textContent = `Calls of ${calls[this.func].name}`;
    this.draw_heat(axis);
    if (!is_open) return;
    this.show_facts();
    this.draw_histogram();
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
    this.facts.replaceChildren(list, element('p', this.text_of_threshold()));
  }

  text_of_threshold() {
    const { sums, limit } = this;
    const { is_traced, reason } = this.model.calls[this.func];
    if (reason !== '') return `Not traced: ${reason}`;
    if (!is_traced && sums.calls === 0) return 'It is not traced yet.';
    if (sums.calls === 0) return 'No call has ended in this time.';
    const [calls, time] = above(sums, limit);
    return `Above ${format_time(limit)}${this.threshold === null ? ' (p95)' : ''}: ${format_percent(calls, 1)} of the calls, ${format_percent(time, 1)} of their time.`;
  }

  draw_histogram() {
    const { sums, base } = this;
    const { context, width, height } = context_of(this.canvas);
    this.scale = make_scale(sums, ...base ? [base] : []);
    const { count } = this.scale;
    if (count === 0) return;
    const bars = bars_of(sums, this.scale);
    const curve = sums.calls > 0 ? smooth(bars, sums.calls) : [];
    const before = base && base.calls > 0 ? bars_of(base, this.scale).map((calls) => calls * (sums.calls || base.calls) / base.calls) : [];
    const [floor, wide] = [height - AXIS_HEIGHT, width / count];
    const tall = (floor - 6) / Math.max(...bars, ...curve, ...before);
    const limit_bar = this.limit === null ? count : bar_of_duration(this.limit, this.scale);
    bars.forEach((calls, bar) => {
      context.fillStyle = css_colour(bar >= limit_bar ? 'mark' : 'accent');
      const high = calls === 0 ? 0 : Math.max(LEAST_HEIGHT, calls * tall);
      context.fillRect(bar * wide, floor - high, Math.max(1, wide - 1), high);
    });
    this.draw_line(context, 'faint', [], curve.map((calls, bar) => [(bar + 0.5) * wide, floor - calls * tall]));
    this.draw_line(context, 'text', [4, 3], before.flatMap((calls, bar) =>
      [[bar * wide, floor - calls * tall], [(bar + 1) * wide, floor - calls * tall]]));
    this.draw_axis(context, width, height);
    context.fillStyle = css_colour('mark');
    if (this.limit !== null) context.fillRect(Math.min(width, Math.max(0, limit_bar * wide)) - 1, 0, 2, floor);
  }

  draw_line(context, colour, dashes, points) {
    context.strokeStyle = css_colour(colour);
    context.setLineDash(dashes);
    context.beginPath();
    points.forEach(([x, y]) => context.lineTo(x, y));
    context.stroke();
  }

  draw_axis(context, width, height) {
    const wide = width / this.scale.count;
    context.font = '11px system-ui, sans-serif';
    context.fillStyle = css_colour('faint');
    for (const { duration, bar } of marks_of(this.scale, LABEL_WIDTH / wide)) {
      const x = bar * wide;
      if (x > width - LABEL_WIDTH) break;
      context.fillRect(x, height - AXIS_HEIGHT, 1, 4);
      context.fillText(format_time(duration).replace(/\.0+ /, ' '), x + 3, height - 4);
    }
  }

  // Columns are seconds, rows durations, short ones at the bottom; slow calls in the colour of matches.
  draw_heat(axis) {
    const { heat, model, limit } = this;
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
    const slow_row = limit === null ? -1 : row_of(Math.max(least, place_of_duration(limit)));
    const [usual, slow] = [css_colour('accent'), css_colour('mark')];
    heat.width = axis.count;
    heat.height = HEAT_ROWS;
    const context = heat.getContext('2d');
    cells.forEach((calls, cell) => {
      if (calls === 0) return;
      const row = Math.floor(cell / axis.count);
      context.globalAlpha = 0.25 + 0.75 * Math.sqrt(calls / peak);
      context.fillStyle = row < slow_row ? slow : usual;
      context.fillRect(cell % axis.count, row, 1, 1);
    });
    this.heat_lane.querySelector('small').textContent = peak === 0 ? 'no calls' : `${format_time(2 ** least)} (bottom) to ${format_time(2 ** most)}`;
  }

  drag(start) {
    if (start.button !== 0 || !this.scale || this.scale.count === 0) return;
    const { scale } = this;
    const move = (event) => {
      const area = this.canvas.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
      this.set_threshold(duration_of_bar(share * scale.count, scale));
    };
    const stop = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', stop);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', stop);
    move(start);
  }
}
