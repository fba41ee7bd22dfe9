// The histogram of durations of calls on a logarithmic axis, in which a threshold is dragged, or a
// range of durations brushed.

import { format_time } from '../data/text.js';
import { css_colour } from '../views/colours.js';
import { bar_of_duration, bars_of, duration_of_bar, make_scale, marks_of, smooth } from './call_sums.js';

const LABEL_WIDTH = 64;  // of a duration below the histogram, at most
const AXIS_HEIGHT = 18;
const LEAST_HEIGHT = 2;  // of a bar, so that few slow calls can be seen
const GRAB_WIDTH = 7;  // pixels from a limit, in which it is what is dragged
const CLICK_WIDTH = 4;  // what moves less is a click
const KEY_STEP = 1.1;

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

export class Histogram {
  // `chosen(limits)`: { from, to } in nanoseconds; null: the usual threshold.
  constructor(canvas, chosen) {
    Object.assign(this, { canvas, chosen, scale: null, limits: null });
    canvas.addEventListener('pointerdown', (event) => this.drag(event));
    canvas.addEventListener('pointermove', (event) => this.show_cursor(event));
    canvas.addEventListener('dblclick', () => chosen(null));
    canvas.addEventListener('keydown', (event) => this.on_key(event));
  }

  // `sums`, `base` (or null): of sum_calls(); `limits`: null: no calls.
  show({ sums, base, limits }) {
    const { context, width, height } = context_of(this.canvas);
    this.limits = limits;
    this.scale = make_scale(sums, ...base ? [base] : []);
    const { count } = this.scale;
    if (count === 0) return;
    const bars = bars_of(sums, this.scale);
    const curve = sums.calls > 0 ? smooth(bars, sums.calls) : [];
    const before = base && base.calls > 0 ? bars_of(base, this.scale).map((calls) => calls * (sums.calls || base.calls) / base.calls) : [];
    const [floor, wide] = [height - AXIS_HEIGHT, width / count];
    const tall = (floor - 6) / Math.max(...bars, ...curve, ...before);
    const [first, last] = this.limit_bars();
    bars.forEach((calls, bar) => {
      context.fillStyle = css_colour(bar >= first && bar <= last ? 'mark' : 'accent');
      const high = calls === 0 ? 0 : Math.max(LEAST_HEIGHT, calls * tall);
      context.fillRect(bar * wide, floor - high, Math.max(1, wide - 1), high);
    });
    this.draw_line(context, 'faint', [], curve.map((calls, bar) => [(bar + 0.5) * wide, floor - calls * tall]));
    this.draw_line(context, 'text', [4, 3], before.flatMap((calls, bar) =>
      [[bar * wide, floor - calls * tall], [(bar + 1) * wide, floor - calls * tall]]));
    this.draw_axis(context, width, height);
    context.fillStyle = css_colour('mark');
    for (const bar of [first, last]) {
      if (Number.isFinite(bar)) context.fillRect(Math.min(width, Math.max(0, bar * wide)) - 1, 0, 2, floor);
    }
  }

  // Where the limits are, in bars.
  limit_bars() {
    if (!this.limits) return [Infinity, Infinity];
    const { from, to } = this.limits;
    return [bar_of_duration(from, this.scale), to === null ? Infinity : bar_of_duration(to, this.scale)];
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

  // The limit that is near the pointer: 'from', 'to', or null.
  limit_at(event) {
    const area = this.canvas.getBoundingClientRect();
    const near = this.limit_bars().map((bar) => Math.abs(bar * area.width / this.scale.count - (event.clientX - area.left)) <= GRAB_WIDTH);
    return near[1] ? 'to' : near[0] ? 'from' : null;
  }

  show_cursor(event) {
    if (this.scale?.count) this.canvas.style.cursor = this.limit_at(event) ? 'ew-resize' : 'crosshair';
  }

  drag(start) {
    if (start.button !== 0 || !this.scale?.count) return;
    const { scale } = this;  // it may change meanwhile
    const area = this.canvas.getBoundingClientRect();
    const duration_at = ({ clientX }) => duration_of_bar(Math.min(1, Math.max(0, (clientX - area.left) / area.width)) * scale.count, scale);
    const grabbed = this.limit_at(start);
    const other = grabbed && this.limits[grabbed === 'from' ? 'to' : 'from'];
    const begin = duration_at(start);
    let is_click = true;
    const choose = (one, another) => this.chosen({ from: Math.min(one, another), to: Math.max(one, another) });
    const move = (event) => {
      if (is_click && Math.abs(event.clientX - start.clientX) < CLICK_WIDTH) return;
      is_click = false;
      if (grabbed && other === null) this.chosen({ from: duration_at(event), to: null });
      else choose(duration_at(event), grabbed ? other : begin);
    };
    const stop = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', stop);
      removeEventListener('pointercancel', stop);
      if (is_click && !grabbed) this.chosen({ from: begin, to: null });
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', stop);
    addEventListener('pointercancel', stop);
  }

  on_key(event) {
    const factor = { ArrowLeft: 1 / KEY_STEP, ArrowRight: KEY_STEP }[event.key];
    if (event.key === 'Home') this.chosen(null);
    if (!factor || !this.limits) return;
    event.preventDefault();
    const { from, to } = this.limits;
    if (!event.shiftKey) this.chosen({ from: from * factor, to: to === null ? null : Math.max(to, from * factor) });
    else if (to !== null) this.chosen({ from, to: Math.max(from, to * factor) });
    else if (factor < 1) this.chosen({ from, to: Math.max(from, duration_of_bar(this.scale.count, this.scale)) });
  }
}
