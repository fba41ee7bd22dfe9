// What one thread did, in order of time: the window of time that is seen is chosen in the picture of
// all of it above.

import { first_after, make_chart } from '../data/chart.js';
import { axis_times, brief_name, format_time } from '../data/text.js';
import { draw_lane } from './lane_picture.js';

const CHART_ROW = 18;
const CHART_AXIS = 16;
const CHART_FONT = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const SHORTEST_NS = 1000;

export class FlameChart {
  // `events`: selected(box or null), pointed(box or null, x, y), menu(func, x, y), moved(); name(func) is its text.
  constructor(profile, colours, lanes, events, name) {
    Object.assign(this, { profile, colours, lanes, events, name });
    this.box = document.getElementById('chart');
    this.canvas = document.getElementById('chart-canvas');
    this.map = document.getElementById('minimap');
    this.window = [0, profile.duration_ns];
    this.selected = null;
    this.levels = [];
    this.matched = null;
    this.listen();
  }

  show(shown, thread) {
    if (this.shown === shown && this.thread === thread) return this.draw();
    Object.assign(this, { shown, thread, selected: null, levels: make_chart(shown, thread) });
    this.draw();
  }

  // Keeps it inside of the recording, and long enough to see.
  look_at(begin, end) {
    const whole = this.profile.duration_ns;
    const length = Math.min(whole, Math.max(end - begin, SHORTEST_NS));
    const from = Math.min(Math.max(0, begin), whole - length);
    this.window = [from, from + length];
    this.draw();
    this.events.moved();
  }

  zoom(factor, at_share = 0.5) {
    const [begin, end] = this.window;
    const at = begin + at_share * (end - begin);
    this.look_at(at - (at - begin) * factor, at + (end - at) * factor);
  }

  move(share) {
    const [begin, end] = this.window;
    const by = (end - begin) * share;
    this.look_at(begin + by, end + by);
  }

  prepare(canvas, width, height) {
    const scale = devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    return context;
  }

  draw() {
    if (this.box.hidden || this.box.clientWidth === 0) return;
    this.draw_map();
    const width = this.box.clientWidth;
    const context = this.prepare(this.canvas, width, CHART_AXIS + Math.max(1, this.levels.length) * CHART_ROW);
    context.font = CHART_FONT;
    context.textBaseline = 'middle';
    this.draw_axis(context, width);
    const [from, to] = this.window;
    const per_ns = width / (to - from);
    for (const level of this.levels) {
      let drawn_to = -1;
      for (let at = first_after(level, from); at < level.length && level[at].begin < to; ++at) {
        const left = Math.max(0, (level[at].begin - from) * per_ns);
        const right = Math.min(width, (level[at].end - from) * per_ns);
        if (right <= drawn_to) continue;
        this.draw_box(context, level[at], left, Math.max(right - left, 0.7));
        drawn_to = Math.max(right, left + 0.7);
      }
    }
  }

  draw_axis(context, width) {
    const [from, to] = this.window;
    context.fillStyle = this.colours.text;
    context.globalAlpha = 0.7;
    for (const { time_ns, text } of axis_times(to - from, width > 700 ? 8 : 4)) {
      const x = time_ns / (to - from) * width;
      if (x < width - 50) context.fillText(time_ns === 0 ? format_time(from) : `+${text}`, x + 2, CHART_AXIS / 2);
    }
    context.globalAlpha = 1;
  }

  draw_box(context, box, x, width) {
    const y = CHART_AXIS + box.depth * CHART_ROW;
    const faint = this.matched !== null && this.matched[box.func] !== 1;
    const gap = width > 3 ? 1 : 0;
    context.globalAlpha = faint ? 0.4 : 1;
    context.fillStyle = this.colours.of_function(box.func);
    context.fillRect(x, y, width - gap, CHART_ROW - 1);
    if (width > 26) {
      context.fillStyle = this.colours.text;
      context.save();
      context.beginPath();
      context.rect(x, y, width - 4, CHART_ROW);
      context.clip();
      const name = this.name(box.func);
      context.fillText(context.measureText(name).width > width - 8 ? brief_name(name) : name, x + 4, y + (CHART_ROW - 1) / 2);
      context.restore();
    }
    context.globalAlpha = 1;
    if (box === this.selected) {
      context.strokeStyle = this.colours.text;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(1, width - gap - 2), CHART_ROW - 3);
    }
  }

  draw_map() {
    draw_lane(this.profile, this.lanes.of_thread(this.thread), this.map, this.colours.states);
    const context = this.map.getContext('2d');
    const { width, height } = this.map;
    const [from, to] = this.window.map((time) => time / this.profile.duration_ns * width);
    context.globalAlpha = 0.55;
    context.fillStyle = this.colours.ground;
    context.fillRect(0, 0, from, height);
    context.fillRect(to, 0, width - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = this.colours.text;
    context.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), height - 1);
  }

  box_at(event) {
    const area = this.canvas.getBoundingClientRect();
    const [from, to] = this.window;
    const time = from + (event.clientX - area.left) / area.width * (to - from);
    const level = this.levels[Math.floor((event.clientY - area.top - CHART_AXIS) / CHART_ROW)];
    const box = level?.[first_after(level, time)];
    return box && box.begin <= time ? box : null;
  }

  // Selects, and looks there if need be.
  select(box) {
    this.selected = box;
    const [from, to] = this.window;
    if (box && (box.end <= from || box.begin >= to)) {
      const middle = (box.begin + box.end) / 2;
      this.look_at(middle - (to - from) / 2, middle + (to - from) / 2);
    }
    this.draw();
    this.events.selected(box);
  }

  step(sideways, down) {
    const box = this.selected;
    if (!box) return this.select(this.levels[0]?.[first_after(this.levels[0], this.window[0])] ?? null);
    const level = this.levels[box.depth + down];
    if (!level) return;
    const at = down === 0 ? level.indexOf(box) + sideways : first_after(level, box.begin);
    if (level[at] && (down <= 0 || level[at].begin < box.end)) this.select(level[at]);
  }

  on_key(event) {
    const moves = {
      w: () => this.zoom(0.6), s: () => this.zoom(1 / 0.6), a: () => this.move(-0.2), d: () => this.move(0.2),
      '+': () => this.zoom(0.6), '-': () => this.zoom(1 / 0.6),
      ArrowLeft: () => this.step(-1, 0), ArrowRight: () => this.step(1, 0),
      ArrowUp: () => this.step(0, -1), ArrowDown: () => this.step(0, 1),
      Home: () => this.look_at(0, this.profile.duration_ns),
      Enter: () => this.selected && this.look_at(this.selected.begin, this.selected.end),
    };
    if (!moves[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  }

  // Calls `move(share of the width since the press)` until the button is released, then `end(moved)`.
  track(event, canvas, move, end) {
    const from = event.clientX;
    const { width } = canvas.getBoundingClientRect();
    let moved = false;
    const on_move = (next) => {
      moved ||= Math.abs(next.clientX - from) > 3;
      if (moved) move((next.clientX - from) / width);
    };
    const on_end = () => {
      removeEventListener('pointermove', on_move);
      removeEventListener('pointerup', on_end);
      end(moved);
    };
    addEventListener('pointermove', on_move);
    addEventListener('pointerup', on_end);
  }

  listen() {
    this.box.addEventListener('keydown', (event) => this.on_key(event));
    this.canvas.addEventListener('mousemove', (event) => this.events.pointed(this.box_at(event), event.clientX, event.clientY));
    this.canvas.addEventListener('mouseleave', () => this.events.pointed(null, 0, 0));
    this.canvas.addEventListener('dblclick', () => this.selected && this.look_at(this.selected.begin, this.selected.end));
    this.canvas.addEventListener('wheel', (event) => {
      if (event.shiftKey) return;  // scrolls
      event.preventDefault();
      const area = this.canvas.getBoundingClientRect();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - area.left) / area.width);
    }, { passive: false });
    this.canvas.addEventListener('contextmenu', (event) => {
      const box = this.box_at(event);
      if (!box) return;
      event.preventDefault();
      this.select(box);
      this.events.menu(box.func, event.clientX, event.clientY);
    });
    this.canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      const [from, to] = this.window;
      this.track(event, this.canvas, (share) => this.look_at(from - share * (to - from), to - share * (to - from)),
                 (moved) => moved || this.select(this.box_at(event)));
    });
    this.map.addEventListener('pointerdown', (event) => {
      const area = this.map.getBoundingClientRect();
      const whole = this.profile.duration_ns;
      const at = (event.clientX - area.left) / area.width * whole;
      const length = this.window[1] - this.window[0];
      this.track(event, this.map, (share) => this.look_at(Math.min(at, at + share * whole), Math.max(at, at + share * whole)),
                 (moved) => moved || this.look_at(at - length / 2, at + length / 2));
    });
    new ResizeObserver(() => this.draw()).observe(this.box);
  }
}
