// The heat map: one column per second, one row per part of a second from the top down; the more
// threads were found running, the stronger the colour. Dragging over it, or over the lanes below it,
// chooses a time.

import { element, format_time } from '../data/text.js';
import { css_colour, is_dark } from '../views/colours.js';
import { BINS } from './model.js';

const LEAST_SECONDS = 0.01;  // what is shorter was a click

// [red, green, blue] from the ground to the strongest colour.
function make_palette() {
  const ground = css_colour('ground').match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
  const strong = is_dark() ? [[200, 80, 20], [255, 214, 120]] : [[255, 170, 60], [176, 16, 24]];
  const mix = (a, b, part) => a.map((value, index) => Math.round(value + (b[index] - value) * part));
  return Array.from({ length: 256 }, (_, level) => {
    const part = level / 255;
    if (level === 0) return ground;
    return part < 0.5 ? mix(mix(ground, strong[0], 0.3), strong[0], part * 2) : mix(strong[0], strong[1], part * 2 - 1);
  });
}

export class HeatMap {
  // `events`: brushed(range or null) while and after dragging; pointed(second, bin or null, x, y).
  constructor(box, canvas, events) {
    Object.assign(this, { box, canvas, events });
    this.range_box = document.getElementById('range');
    this.is_dragging = false;
    this.refresh_colours();
    this.listen();
  }

  refresh_colours() {
    this.palette = make_palette();
  }

  // `axis`: { first, count } in seconds; `range`: [from, to) or null.
  show(axis, heat, range) {
    Object.assign(this, { axis, heat });
    this.most = heat.reduce((most, value) => Math.max(most, value), 0);
    const { canvas } = this;
    canvas.width = axis.count;
    canvas.height = BINS;
    const context = canvas.getContext('2d');
    const picture = context.createImageData(axis.count, BINS);
    for (let second = 0; second < axis.count; ++second) {
      for (let bin = 0; bin < BINS; ++bin) {
        const value = heat[second * BINS + bin];
        const colour = this.palette[this.most > 0 ? Math.round(255 * Math.sqrt(value / this.most)) : 0];
        picture.data.set([...colour, 255], 4 * (bin * axis.count + second));
      }
    }
    context.putImageData(picture, 0, 0);
    this.place_range(range);
  }

  // The time at a place of the screen, in seconds.
  time_at(client_x) {
    const area = this.canvas.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (client_x - area.left) / area.width));
    return this.axis.first + share * this.axis.count;
  }

  // [second, bin] at a place of the heat map; bin is null elsewhere.
  cell_at(event) {
    const area = this.canvas.getBoundingClientRect();
    const second = Math.min(this.axis.first + this.axis.count - 1, Math.floor(this.time_at(event.clientX)));
    const is_inside = event.clientY >= area.top && event.clientY < area.bottom;
    return [second, is_inside ? Math.min(BINS - 1, Math.floor((event.clientY - area.top) / area.height * BINS)) : null];
  }

  // From one cell to another; over lanes, from one moment to another.
  range_of(start, end) {
    const [a, b] = [start, end].map((event) => {
      const [second, bin] = this.cell_at(event);
      return bin === null || this.drags_lanes ? [this.time_at(event.clientX), 0] : [second + bin / BINS, 1 / BINS];
    }).sort((one, other) => one[0] - other[0]);
    return [a[0], b[0] + b[1]];
  }

  place_range(range) {
    const { range_box, canvas, axis } = this;
    range_box.hidden = !range || range[1] <= axis.first || range[0] >= axis.first + axis.count;
    if (range_box.hidden) return;
    const per_second = canvas.clientWidth / axis.count;
    const from = Math.max(0, range[0] - axis.first);
    const to = Math.min(axis.count, range[1] - axis.first);
    const left = canvas.getBoundingClientRect().left - this.box.getBoundingClientRect().left - this.box.clientLeft;
    range_box.style.left = `${left + from * per_second}px`;
    range_box.style.width = `${Math.max(2, (to - from) * per_second)}px`;
    range_box.style.height = `${this.box.scrollHeight}px`;
  }

  drag(start) {
    this.is_dragging = true;
    this.drags_lanes = start.target !== this.canvas;
    let moved = false;
    const move = (event) => {
      moved ||= Math.abs(event.clientX - start.clientX) + Math.abs(event.clientY - start.clientY) > 3;
      if (moved) this.place_range(this.range_of(start, event));
    };
    const stop = (event) => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', stop);
      this.is_dragging = false;
      const range = this.range_of(start, event);
      this.events.brushed(moved && range[1] - range[0] >= LEAST_SECONDS ? range : null);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', stop);
    start.preventDefault();
  }

  listen() {
    this.box.addEventListener('pointerdown', (event) => {
      if (event.button === 0 && event.target instanceof HTMLCanvasElement) this.drag(event);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (this.axis && !this.is_dragging) this.events.pointed(...this.cell_at(event), event.clientX, event.clientY);
    });
    this.canvas.addEventListener('pointerleave', () => this.events.pointed(0, null, 0, 0));
  }

  // What a cell says.
  facts_of(second, bin, now) {
    const value = this.heat[(second - this.axis.first) * BINS + bin];
    return [['found running', String(Math.round(value)), ''],
            ['ago', format_time(Math.max(0, now - second - (bin + 0.5) / BINS) * 1e9), '']];
  }
}

// Marks of the time axis: seconds before `now`.
export function show_axis(box, { first, count }, now) {
  const step = [5, 10, 15, 30, 60, 120].find((seconds) => count / seconds <= Math.max(2, box.clientWidth / 90)) ?? 300;
  const marks = [];
  for (let ago = 0; ago <= count; ago += step) {
    const share = (now - ago - first) / count;
    if (share < 0 || share > 1) continue;
    const mark = element('span', ago === 0 ? 'now' : ago < 120 ? `−${ago} s` : `−${ago / 60} min`);
    mark.style.left = `${100 * share}%`;
    if (share > 0.95) mark.style.transform = 'translateX(-100%)';
    if (share < 0.03) mark.style.transform = 'none';
    marks.push(mark);
  }
  box.replaceChildren(...marks);
}
