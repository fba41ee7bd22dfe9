// One lane per thread or group of threads, coloured by what they did when; choosing threads and a
// range of time.

import { group_threads, Lanes } from '../data/lanes.js';
import { axis_times, element, format_time } from '../data/text.js';
import { draw_lane } from './lane_picture.js';

const FIRST_LANES = 50;
const MORE_LANES = 200;

export class Timeline {
  // `changed()` is called when the selection's threads or range were changed here.
  constructor(profile, selection, colours, changed) {
    Object.assign(this, { profile, selection, colours, changed });
    this.box = document.getElementById('lanes');
    this.more = document.getElementById('more-lanes');
    this.axis = document.getElementById('axis');
    this.search = document.getElementById('thread-search');
    this.groups = group_threads(profile);
    this.lanes = new Lanes(profile);
    this.limit = FIRST_LANES;
    this.range = element('div', '', { id: 'range' });
    this.listen();
    this.fill();
  }

  matches(thread) {
    const wanted = this.search.value.trim().toLowerCase();
    const { name, tid } = this.profile.threads;
    return name[thread].toLowerCase().includes(wanted) || String(tid[thread]) === wanted;
  }

  matching() {
    return this.groups.flatMap(({ threads }) => threads).filter((thread) => this.matches(thread));
  }

  // [{ group, threads }] from top to bottom: groups of several threads, and their threads if they are open.
  entries() {
    return this.groups.flatMap((group) => {
      const threads = group.threads.filter((thread) => this.matches(thread));
      const alone = threads.map((thread) => ({ group: null, threads: [thread], is_member: threads.length > 1 }));
      if (threads.length < 2) return alone;
      return [{ group, threads }, ...group.open ? alone : []];
    });
  }

  fill() {
    const entries = this.entries();
    const shown = entries.slice(0, this.limit);
    this.canvases = [];
    this.box.replaceChildren(this.range, ...shown.map((entry) => this.make_lane(entry)));
    this.more.hidden = shown.length === entries.length;
    this.more.textContent = `Show more: ${entries.length - shown.length} threads are not shown`;
    this.mark();
    this.draw();
  }

  make_lane({ group, threads, is_member }) {
    const { profile } = this;
    const lane = element('div', '', { class: group ? 'lane group' : is_member ? 'lane member' : 'lane' });
    const sum = (key) => threads.reduce((all, thread) => all + profile.thread_sums[key][thread], 0);
    const [first] = threads;
    const button = element('button', '', {
      type: 'button', class: 'thread',
      title: `${group ? `${threads.length} threads` : `tid ${profile.threads.tid[first]}`}${this.process_of(group, first)}: CPU ${format_time(sum('cpu'))}, ` +
             `run queue ${format_time(sum('runqueue'))}, blocked ${format_time(sum('blocked'))}`,
    });
    const prefix = profile.threads.base?.[first] ? 'base: ' : '';
    button.append(element('b', group ? group.name : prefix + profile.threads.name[first]),
                  element('small', group ? `×${threads.length}` : String(profile.threads.tid[first] || '')),  // 0: sums, tasks
                  element('span', format_time(sum('cpu'))));
    button.addEventListener('click', (event) => this.choose(threads, event.ctrlKey || event.metaKey || event.shiftKey));
    const canvas = element('canvas', '', { 'aria-hidden': 'true' });
    lane.append(group ? this.make_opener(group) : element('span', '', { class: 'opener' }), button, canvas);
    this.canvases.push({ threads, lane, button, canvas });
    return lane;
  }

  // " of nginx 4711": if there are several.
  process_of(group, thread) {
    const { processes, threads } = this.profile;
    const { command, pid } = processes[threads.process[thread]];
    return processes.length < 2 ? '' : ` of ${command}${group ? '' : ` ${pid}`}`;
  }

  make_opener(group) {
    const opener = element('button', group.open ? '▾' : '▸', {
      type: 'button', class: 'opener', 'aria-expanded': String(group.open),
      'aria-label': `Threads of ${group.name}`,
    });
    opener.addEventListener('click', () => {
      group.open = !group.open;
      this.fill();
      this.box.querySelector(`.opener[aria-label="${CSS.escape(`Threads of ${group.name}`)}"]`)?.focus();
    });
    return opener;
  }

  choose(wanted, adds) {
    const { threads } = this.selection;
    const has_all = wanted.every((thread) => threads.has(thread));
    const was_alone = has_all && threads.size === wanted.length;
    if (adds) {
      for (const thread of wanted) has_all ? threads.delete(thread) : threads.add(thread);
    } else {
      threads.clear();
      if (!was_alone) for (const thread of wanted) threads.add(thread);
    }
    this.mark();
    this.changed();
  }

  mark() {
    const { threads } = this.selection;
    this.box.classList.toggle('lanes-chosen', threads.size > 0);
    for (const entry of this.canvases) {
      const has_all = entry.threads.every((thread) => threads.has(thread));
      entry.button.setAttribute('aria-pressed', String(has_all));
      entry.lane.classList.toggle('chosen', entry.threads.some((thread) => threads.has(thread)));
    }
    this.place_range();
  }

  draw() {
    for (const { threads, canvas } of this.canvases) {
      draw_lane(this.profile, this.lanes.of_threads(threads), canvas, this.colours.states);
    }
    this.draw_axis();
    this.place_range();
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

  // With Shift the range that is chosen is moved, else a new one begins.
  drag(event) {
    const { selection, profile } = this;
    const start = this.slice_at(event.clientX);
    const moved = event.shiftKey && selection.range ? [...selection.range] : null;
    const move = (next) => {
      const end = this.slice_at(next.clientX);
      if (moved) {
        const by = Math.min(profile.slices - moved[1], Math.max(-moved[0], end - start));
        selection.range = [moved[0] + by, moved[1] + by];
      } else {
        selection.range = [Math.min(start, end), Math.max(start, end)];
      }
      this.place_range();
    };
    const stop = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', stop);
      // A click does not select a range.
      if (selection.range && selection.range[1] - selection.range[0] < profile.slices / 400) selection.range = null;
      this.place_range();
      this.changed();
    };
    if (!moved) selection.range = null;
    addEventListener('pointermove', move);
    addEventListener('pointerup', stop);
    event.preventDefault();
  }

  listen() {
    this.box.addEventListener('pointerdown', (event) => {
      if (event.button === 0 && event.target instanceof HTMLCanvasElement) this.drag(event);
    });
    const select = document.getElementById('thread-select');
    this.search.addEventListener('input', () => {
      this.limit = FIRST_LANES;
      select.disabled = this.search.value.trim() === '';
      this.fill();
    });
    this.more.addEventListener('click', () => {
      this.limit += MORE_LANES;
      this.fill();
    });
    select.addEventListener('click', () => {
      this.selection.threads.clear();
      for (const thread of this.matching()) this.selection.threads.add(thread);
      this.mark();
      this.changed();
    });
    new ResizeObserver(() => this.draw()).observe(this.box);
  }
}
