// The fields and keys of the page, and its address.

import { read_address, write_address } from '../data/address.js';
import { WEIGHTS } from '../data/profile.js';
import { element, format_time } from '../data/text.js';
import { WINDOWS } from './window.js';

const field = (id) => document.getElementById(id);

const SPANS = [[60, '1 min'], [120, '2 min'], [300, '5 min'], [600, '10 min']];

export class Controls {
  // `page`: what the fields change is asked for by their values; update(), pause(), take_baseline(), step_back().
  constructor(page) {
    this.page = page;
    field('window').replaceChildren(...WINDOWS.map(({ key, label }) => element('option', label, { value: key })));
    field('weight').replaceChildren(...WEIGHTS.map(({ key, label }) => element('option', label, { value: key })));
    field('span').replaceChildren(...SPANS.map(([seconds, label]) => element('option', label, { value: seconds })));
    this.read();
    field('toolbar').addEventListener('submit', (event) => event.preventDefault());
    field('window').addEventListener('change', () => {
      page.selection.range = null;
      this.changed();
    });
    for (const id of ['weight', 'span', 'inverted']) field(id).addEventListener('change', () => this.changed());
    field('search').addEventListener('input', () => {
      this.write();
      page.search();
    });
    field('pause').addEventListener('click', () => page.pause());
    field('baseline').addEventListener('click', () => page.take_baseline());
    field('reset').addEventListener('click', () => page.zoom_out());
    field('help-button').addEventListener('click', () => field('help').showModal());
    field('fold').addEventListener('click', () => {
      field('fold').setAttribute('aria-expanded', String(field('toolbar').classList.toggle('open')));
    });
    document.addEventListener('keydown', (event) => this.on_key(event));
  }

  get window() {
    return field('window').value;
  }
  get weight() {
    return field('weight').value;
  }
  get span() {
    return Number(field('span').value);
  }
  get inverted() {
    return field('inverted').checked;
  }
  get search() {
    return field('search').value;
  }

  changed() {
    this.page.selection.weight = this.weight;
    this.write();
    this.page.update();
  }

  set_weight(weight) {
    field('weight').value = weight;
    this.changed();
  }

  set_search(text) {
    field('search').value = text;
    this.write();
    this.page.search();
  }

  // What an address says wrongly is left out.
  read() {
    const address = read_address();
    const choose = (id, value, usual) => {
      field(id).value = value ?? usual;
      if (field(id).selectedIndex < 0) field(id).value = usual;
    };
    choose('window', address.window, 'last10');
    choose('weight', address.weight, 'cpu');
    choose('span', address.span, '120');
    field('inverted').checked = address.inverted === 'true';
    field('search').value = address.search ?? '';
    this.page.selection.weight = this.weight;
  }

  write() {
    const differs = (value, usual) => value === usual ? '' : value;
    write_address({
      window: differs(this.window, 'last10'), weight: differs(this.weight, 'cpu'), span: differs(String(this.span), '120'),
      inverted: this.inverted ? 'true' : '', search: this.search, ...this.page.latency.of_address(),
    });
  }

  show_state({ is_paused, has_baseline, state }) {
    field('pause').setAttribute('aria-pressed', String(is_paused));
    field('pause').firstChild.textContent = is_paused ? 'Go on ' : 'Pause ';
    field('baseline').setAttribute('aria-pressed', String(has_baseline));
    field('baseline').firstChild.textContent = has_baseline ? 'Drop baseline ' : 'Baseline ';
    if (field('state').textContent === state) return;
    field('state').textContent = state;
    field('state').className = state.split(':')[0].replaceAll(' ', '-');
  }

  // What the page is narrowed to, as buttons that take it back.
  show_chips({ threads, range }, filters, model, now) {
    const chips = [];
    const add = (text, clear) => {
      const chip = element('button', `${text} ✕`, { type: 'button', title: 'Remove this filter' });
      chip.addEventListener('click', () => {
        clear();
        this.page.update();
      });
      chips.push(chip);
    };
    if (threads.size > 0) {
      const [first] = threads;
      add(threads.size === 1 ? `only ${model.threads.name[first]} ${model.threads.tid[first]}` : `${threads.size} threads`, () => threads.clear());
    }
    if (range) {
      const [from, to] = range.map((time) => format_time(Math.max(0, now - time) * 1e9));
      add(`${from} to ${to} ago (${format_time((range[1] - range[0]) * 1e9)})`, () => { this.page.selection.range = null; });
    }
    for (const { text, clear } of filters) add(text, clear);
    const texts = chips.map((chip) => chip.textContent).join();
    if (texts === this.texts) return;
    this.texts = texts;
    field('filters').replaceChildren(...chips);
  }

  on_key(event) {
    const { page } = this;
    const typing = event.target instanceof HTMLInputElement && event.target.type === 'search';
    if (field('help').open || page.menu.is_open || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === 'Escape') {
      event.preventDefault();
      if (typing) field('stage').focus();
      return page.step_back();
    }
    if (typing || event.target instanceof HTMLSelectElement) return;
    const weight = WEIGHTS[Number(event.key) - 1];
    const keys = {
      '/': () => field('search').focus(),
      '?': () => field('help').showModal(),
      i: () => field('inverted').click(),
      p: () => page.pause(),
      b: () => page.take_baseline(),
      9: () => page.latency.toggle_slow(),
      m: () => page.open_menu_by_key(),
      '+': () => this.step_window(1),
      '-': () => this.step_window(-1),
    };
    if (weight) {
      this.set_weight(weight.key);
    } else if (keys[event.key]) {
      keys[event.key]();
    } else {
      return;
    }
    event.preventDefault();
  }

  step_window(step) {
    const place = WINDOWS.findIndex(({ key }) => key === this.window) + step;
    if (!WINDOWS[place]) return;
    field('window').value = WINDOWS[place].key;
    this.page.selection.range = null;
    this.changed();
  }
}
