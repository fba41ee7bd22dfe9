// One lane per thread, busiest first: its state, its share of a CPU, what it did in each second.

import { STATES } from '../data/profile.js';
import { element, format_count, format_percent, format_time } from '../data/text.js';
import { draw_lane } from '../views/lane_picture.js';

const MAX_LANES = 200;

// The state in which a thread spent most of its last second that is known.
function last_state(lane) {
  for (let at = lane[0].length - 1; at >= 0; --at) {
    const times = [lane[0][at], lane[1][at], lane[2][at]];
    const most = Math.max(...times);
    if (most > 0) return times.indexOf(most);
  }
  return -1;
}

function sum_of(column) {
  return column.reduce((all, value) => all + value, 0);
}

export class ThreadList {
  // `changed()`: the threads of the selection have changed.
  constructor(box, selection, colours, changed) {
    Object.assign(this, { box, selection, colours, changed });
    this.search = document.getElementById('thread-search');
    this.count = document.getElementById('thread-count');
    this.lanes = new Map();  // by thread
    this.order = [];
    this.search.addEventListener('input', () => this.fill());
    box.addEventListener('scroll', () => this.draw(), { passive: true });
    document.getElementById('thread-select').addEventListener('click', () => this.choose_matching());
  }

  reset() {
    for (const { lane } of this.lanes.values()) lane.remove();
    this.lanes.clear();
    this.order = [];
  }

  // `times`: by thread, of each second of the axis (sum_seconds); `sums` of the window (sum_threads).
  show(model, times, sums, covered_ns) {
    Object.assign(this, { model, times, sums, covered_ns });
    this.fill();
  }

  matches(thread) {
    const wanted = this.search.value.trim().toLowerCase();
    return this.model.threads.name[thread].toLowerCase().includes(wanted) || String(this.model.threads.tid[thread]) === wanted;
  }

  matching() {
    return [...this.times.keys()].filter((thread) => this.matches(thread));
  }

  fill() {
    if (!this.times) return;
    // In whole percent of a CPU: threads that do next to nothing must not change places all the time.
    const busy = new Map([...this.times].map(([thread, lane]) => [thread, Math.round(sum_of(lane[0]) / (lane[0].length * 1e7))]));
    const found = this.matching().sort((a, b) => busy.get(b) - busy.get(a) || a - b);
    const shown = found.slice(0, MAX_LANES);
    const wanted = new Set(shown);
    for (const [thread, { lane }] of this.lanes) {
      if (wanted.has(thread)) continue;
      lane.remove();
      this.lanes.delete(thread);
    }
    for (const thread of shown) if (!this.lanes.has(thread)) this.lanes.set(thread, this.make_lane(thread));
    if (shown.join() !== this.order.join()) this.put_in_order(shown);
    this.count.textContent = found.length > MAX_LANES ? `the busiest ${MAX_LANES} of ${format_count(found.length)}` : format_count(found.length);
    this.mark();
    this.draw();
  }

  put_in_order(shown) {
    const focused = document.activeElement;
    this.box.append(...shown.map((thread) => this.lanes.get(thread).lane));
    if (this.box.contains(focused)) focused.focus();
    this.order = shown;
  }

  update_lane(thread, entry) {
    const state = last_state(this.times.get(thread));
    const { name, tid } = this.model.threads;
    const { cpu, runqueue, blocked } = this.sums;
    entry.name.textContent = name[thread];
    entry.share.textContent = format_percent(cpu[thread], this.covered_ns);
    entry.dot.style.background = state < 0 ? 'transparent' : `var(--${STATES[state].key})`;
    entry.dot.title = state < 0 ? '' : STATES[state].key;
    entry.button.title = `${name[thread]} ${tid[thread]}, ${state < 0 ? 'not seen' : STATES[state].key}: CPU ${format_time(cpu[thread] ?? 0)}, ` +
      `run queue ${format_time(runqueue[thread] ?? 0)}, blocked ${format_time(blocked[thread] ?? 0)}`;
  }

  make_lane(thread) {
    const lane = element('div', '', { class: 'lane' });
    const dot = element('i', '', { class: 'dot' });
    const button = element('button', '', { type: 'button', class: 'thread', 'data-tid': this.model.threads.tid[thread] });
    const [name, share] = [element('b', this.model.threads.name[thread]), element('span')];
    button.append(name, element('small', String(this.model.threads.tid[thread] || '')), share);
    button.addEventListener('click', (event) => this.choose(thread, event.ctrlKey || event.metaKey || event.shiftKey));
    const canvas = element('canvas', '', { 'aria-hidden': 'true' });
    lane.append(dot, button, canvas);
    return { lane, dot, button, name, share, canvas };
  }

  choose(thread, adds) {
    const { threads } = this.selection;
    const was_chosen = threads.has(thread);
    if (!adds) threads.clear();
    if (was_chosen) threads.delete(thread);
    else threads.add(thread);
    this.changed();
  }

  choose_matching() {
    this.selection.threads.clear();
    if (this.search.value.trim() !== '') for (const thread of this.matching()) this.selection.threads.add(thread);
    this.changed();
  }

  mark() {
    const { threads } = this.selection;
    this.box.classList.toggle('lanes-chosen', threads.size > 0);
    for (const [thread, { lane, button }] of this.lanes) {
      button.setAttribute('aria-pressed', String(threads.has(thread)));
      lane.classList.toggle('chosen', threads.has(thread));
    }
  }

  // Only what can be seen: there may be hundreds.
  draw() {
    const top = this.box.scrollTop;
    const bottom = top + this.box.clientHeight;
    const seen = [...this.lanes].filter(([, { lane }]) => lane.offsetTop + lane.offsetHeight >= top && lane.offsetTop <= bottom);
    for (const [thread, entry] of seen) {
      const times = this.times.get(thread);
      this.update_lane(thread, entry);
      draw_lane({ slices: times[0].length, slice_ns: 1e9 }, times, entry.canvas, this.colours.states);
    }
  }
}
