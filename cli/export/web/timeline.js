// One lane per thread, coloured by what it did when; choosing threads and a range of time.

import { STATES } from './profile.js';
import { axis_times, element, format_time } from './text.js';

const FIRST_LANES = 50;
const MORE_LANES = 200;

// Busiest first.
function order_threads(profile) {
  const { cpu, runqueue, samples } = profile.thread_sums;
  const order = profile.threads.name.map((_, thread) => thread);
  return order.sort((a, b) => cpu[b] - cpu[a] || runqueue[b] - runqueue[a] || samples[b] - samples[a] || a - b);
}

// What each thread did per slice, by weight of its parts: CPU, run queue, blocked, not known.
function spread_rows(profile) {
  const { rows, slices } = profile;
  const lanes = new Map();
  for (let row = 0; row < rows.thread.length; ++row) {
    const thread = rows.thread[row];
    let lane = lanes.get(thread);
    if (!lane) lanes.set(thread, lane = STATES.map(() => new Float64Array(slices)));
    const parts = [rows.cpu[row], rows.runqueue[row], rows.blocked[row], 0];
    parts[3] = Math.max(0, rows.wall[row] - parts[0] - parts[1] - parts[2]);
    const first = rows.first[row];
    const last = rows.last[row];
    for (let state = 0; state < parts.length; ++state) {
      if (parts[state] === 0) continue;
      const part = parts[state] / (last + 1 - first);
      for (let slice = first; slice <= last; ++slice) lane[state][slice] += part;
    }
  }
  return lanes;
}

export class Timeline {
  // `changed()` is called when the selection's threads or range were changed here.
  constructor(profile, selection, colours, changed) {
    Object.assign(this, { profile, selection, colours, changed });
    this.lanes = document.getElementById('lanes');
    this.more = document.getElementById('more-lanes');
    this.axis = document.getElementById('axis');
    this.search = document.getElementById('thread-search');
    this.order = order_threads(profile);
    this.spread = spread_rows(profile);
    this.limit = FIRST_LANES;
    this.range = element('div', '', { id: 'range' });
    this.listen();
    this.fill();
  }

  matching() {
    const wanted = this.search.value.trim().toLowerCase();
    const { name, tid } = this.profile.threads;
    return this.order.filter((thread) =>
      name[thread].toLowerCase().includes(wanted) || String(tid[thread]) === wanted);
  }

  fill() {
    const threads = this.matching();
    const shown = threads.slice(0, this.limit);
    this.canvases = [];
    this.lanes.replaceChildren(this.range, ...shown.map((thread) => this.make_lane(thread)));
    this.more.hidden = shown.length === threads.length;
    this.more.textContent = `Show more: ${threads.length - shown.length} threads are not shown`;
    this.mark();
    this.draw();
  }

  make_lane(thread) {
    const { profile } = this;
    const lane = element('div', '', { class: 'lane' });
    const sums = profile.thread_sums;
    const button = element('button', '', {
      type: 'button',
      title: `tid ${profile.threads.tid[thread]}: CPU ${format_time(sums.cpu[thread])}, ` +
             `run queue ${format_time(sums.runqueue[thread])}, blocked ${format_time(sums.blocked[thread])}`,
    });
    button.append(element('b', profile.threads.base?.[thread] ? `base: ${profile.threads.name[thread]}`
                                                              : profile.threads.name[thread]),
                  element('span', format_time(sums.cpu[thread])));
    button.addEventListener('click', (event) => this.choose(thread, event.ctrlKey || event.metaKey || event.shiftKey));
    const canvas = element('canvas', '', { 'aria-hidden': 'true' });
    lane.append(button, canvas);
    this.canvases.push({ thread, lane, button, canvas });
    return lane;
  }

  choose(thread, adds) {
    const { threads } = this.selection;
    const was_alone = threads.size === 1 && threads.has(thread);
    if (adds) {
      if (!threads.delete(thread)) threads.add(thread);
    } else {
      threads.clear();
      if (!was_alone) threads.add(thread);
    }
    this.mark();
    this.changed();
  }

  mark() {
    const { threads } = this.selection;
    this.lanes.classList.toggle('lanes-chosen', threads.size > 0);
    for (const { thread, lane, button } of this.canvases) {
      button.setAttribute('aria-pressed', String(threads.has(thread)));
      lane.classList.toggle('chosen', threads.has(thread));
    }
    this.place_range();
  }

  draw() {
    for (const { thread, canvas } of this.canvases) this.draw_lane(this.spread.get(thread), canvas);
    this.draw_axis();
    this.place_range();
  }

  // Each column of pixels is divided from the bottom up: running, waiting for a CPU, blocked.
  draw_lane(lane, canvas) {
    const scale = devicePixelRatio || 1;
    const width = canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
    const height = canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale));
    if (!lane) return;
    const context = canvas.getContext('2d');
    const { slices } = this.profile;
    const parts = STATES.map(() => 0);
    for (let x = 0; x < width; ++x) {
      const first = Math.floor(x * slices / width);
      const end = Math.max(first + 1, Math.floor((x + 1) * slices / width));
      parts.fill(0);
      for (let slice = first; slice < end; ++slice) {
        for (let state = 0; state < parts.length; ++state) parts[state] += lane[state][slice];
      }
      const sum = parts.reduce((all, part) => all + part, 0);
      const per_time = height / Math.max(sum, (end - first) * this.profile.duration_ns / slices);
      let bottom = height;
      for (let state = 0; state < parts.length; ++state) {
        if (parts[state] === 0) continue;
        context.fillStyle = this.colours.states[state];
        context.globalAlpha = state >= 2 ? 0.5 : 1;
        context.fillRect(x, bottom - parts[state] * per_time, 1, parts[state] * per_time);
        bottom -= parts[state] * per_time;
      }
    }
  }

  draw_axis() {
    const { clientWidth } = this.axis;
    const most = clientWidth > 500 ? 8 : clientWidth > 320 ? 4 : 2;
    const { duration_ns } = this.profile;
    this.axis.replaceChildren(...axis_times(duration_ns, most).map(({ time_ns, text }) => {
      const mark = element('span', text);
      mark.style.left = `${100 * time_ns / duration_ns}%`;
      // Nothing sticks out at the right, either.
      if (time_ns > 0.95 * duration_ns) mark.style.transform = 'translateX(-100%)';
      return mark;
    }));
  }

  // Where the lanes' pictures are, in pixels from the left of #lanes.
  picture() {
    const canvas = this.canvases[0]?.canvas;
    if (!canvas) return null;
    return { left: canvas.offsetLeft, width: canvas.clientWidth };
  }

  place_range() {
    const { range } = this.selection;
    const picture = this.picture();
    this.range.hidden = !range || !picture;
    if (this.range.hidden) return;
    const per_slice = picture.width / this.profile.slices;
    this.range.style.left = `${picture.left + range[0] * per_slice}px`;
    this.range.style.width = `${Math.max(2, (range[1] - range[0]) * per_slice)}px`;
    this.range.style.height = `${this.canvases.length * 21}px`;
  }

  slice_at(client_x) {
    const box = this.canvases[0].canvas.getBoundingClientRect();
    const share = (client_x - box.left) / box.width;
    return Math.min(1, Math.max(0, share)) * this.profile.slices;
  }

  drag(event) {
    const start = this.slice_at(event.clientX);
    const move = (next) => {
      const end = this.slice_at(next.clientX);
      this.selection.range = [Math.min(start, end), Math.max(start, end)];
      this.place_range();
    };
    const stop = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', stop);
      const { range } = this.selection;
      // A click does not select a range.
      if (range && range[1] - range[0] < this.profile.slices / 400) this.selection.range = null;
      this.place_range();
      this.changed();
    };
    this.selection.range = null;
    addEventListener('pointermove', move);
    addEventListener('pointerup', stop);
    event.preventDefault();
  }

  listen() {
    this.lanes.addEventListener('pointerdown', (event) => {
      if (event.button === 0 && event.target instanceof HTMLCanvasElement) this.drag(event);
    });
    this.search.addEventListener('input', () => {
      this.limit = FIRST_LANES;
      this.fill();
    });
    this.more.addEventListener('click', () => {
      this.limit += MORE_LANES;
      this.fill();
    });
    document.getElementById('thread-select').addEventListener('click', () => {
      this.selection.threads = new Set(this.search.value.trim() === '' ? [] : this.matching());
      this.mark();
      this.changed();
    });
    new ResizeObserver(() => this.draw()).observe(this.lanes);
  }
}
