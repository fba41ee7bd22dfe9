// The state of the page as the text of its address, and back.

import { path_of, read_address, write_address } from './data/address.js';
import { STATES } from './data/profile.js';

function list_of(text) {
  return (text ?? '').split(',').filter((item) => item !== '');
}

// An address that somebody cut off may end in half a letter.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

const PAUSE_MS = 160;

// Sets of functions that are left out of stacks, and how.
const SETS = ['hidden', 'dropped', 'folded'];
// What changes while a person looks around: the browser's "back" does not lead to it.
const PASSING = new Set(['search', 'at', 'function', 'window', 'colour', 'order']);

export class Place {
  constructor(page) {
    this.page = page;
    this.is_reading = false;
    this.is_new = true;  // the address says something that nobody did in the page
    addEventListener('hashchange', () => {
      clearTimeout(this.timer);
      this.timer = 0;
      this.is_new = true;
      this.read();
    });
  }

  functions_named(name) {
    return this.page.profile.functions.name.indexOf(name);
  }

  // Browsers allow some 200 changes of the address in 30 s.
  write() {
    if (this.is_reading || !this.page.tree || this.timer) return;
    const { dataset } = document.documentElement;
    dataset.writing = 'yes';
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.write_now();
      delete dataset.writing;
    }, PAUSE_MS);
  }

  write_now() {
    const { page } = this;
    const { profile, selection, toolbar, transforms } = page;
    const { name } = profile.functions;
    const [from, to] = page.chart.window;
    const differs = (value, usual) => value === usual ? '' : value;
    const { is_new } = this;
    this.is_new = false;
    write_address({
      weight: differs(selection.weight, profile.weight),
      without: STATES.filter((_, state) => !selection.states[state]).map(({ key }) => key).join(','),
      threads: [...selection.threads].sort((a, b) => a - b).map((thread) => profile.threads.tid[thread]).join(','),
      range: selection.range ? selection.range.map((slice) => Math.round(slice * profile.slice_ns)).join(',') : '',
      frames: differs(toolbar.kinds, 'mixed'),
      colour: differs(toolbar.colouring, 'module'),
      inverted: toolbar.inverted === profile.inverted ? '' : String(toolbar.inverted),
      search: document.getElementById('search').value,
      from: transforms.focus === null ? '' : name[transforms.focus],
      ...Object.fromEntries(SETS.map((set) => [set, [...transforms[set]].map((func) => encodeURIComponent(name[func])).join(',')])),
      zoom: path_of(page.tree, page.flame.zoom),
      at: page.node === page.flame.zoom ? '' : path_of(page.tree, page.node),
      view: differs(page.view_tabs.current, 'graph'),
      window: from === 0 && to === profile.duration_ns ? '' : `${Math.round(from)},${Math.round(to)}`,
      pane: differs(page.pane_tabs.current, 'functions'),
      order: differs(page.table.order, page.table.columns[0].key),
      function: page.func === null ? '' : name[page.func],
    }, (field) => !is_new && !PASSING.has(field));
  }

  // What an address does not say is as usual; what it says wrongly is left out.
  read() {
    const { page } = this;
    const address = read_address();
    this.is_reading = true;
    this.read_selection(address);
    this.read_fields(address);
    const found = this.functions_named(address.function ?? '');
    page.func = found < 0 ? null : found;
    page.table.sort_by(address.order);
    page.update();
    page.search();
    page.view_tabs.choose(address.view ?? 'graph');
    page.pane_tabs.choose(address.pane ?? 'functions');
    const window = list_of(address.window).map(Number);
    if (window.length === 2 && window.every(Number.isFinite)) page.chart.look_at(...window);
    else page.chart.look_at(0, page.profile.duration_ns);
    page.go_to(address.zoom ?? '', address.at ?? '');
    page.show_view();
    page.show_pane();
    this.is_reading = false;
    this.write();
  }

  read_selection(address) {
    const { profile, selection, transforms } = this.page;
    selection.weight = this.page.toolbar.has_weight(address.weight) ? address.weight : profile.weight;
    const without = new Set(list_of(address.without));
    STATES.forEach(({ key }, state) => { selection.states[state] = !without.has(key); });
    const tids = new Set(list_of(address.threads).map(Number));
    selection.threads.clear();
    profile.threads.tid.forEach((tid, thread) => tids.has(tid) && selection.threads.add(thread));
    const range = list_of(address.range).map((time) => Number(time) / profile.slice_ns);
    selection.range = range.length === 2 && range[0] < range[1] ? range : null;
    const focus = this.functions_named(address.from ?? '');
    transforms.focus = focus < 0 ? null : focus;
    for (const set of SETS) {
      const named = list_of(address[set]).map((item) => this.functions_named(decoded(item)));
      transforms[set] = new Set(named.filter((func) => func >= 0));
    }
  }

  read_fields(address) {
    const { toolbar, profile, flame } = this.page;
    const choose = (id, value, usual) => {
      const field = document.getElementById(id);
      field.value = value ?? usual;
      if (field.selectedIndex < 0) field.value = usual;
    };
    choose('kinds', address.frames, 'mixed');
    choose('colouring', address.colour, 'module');
    document.getElementById('inverted').checked = address.inverted === undefined ? profile.inverted : address.inverted === 'true';
    document.getElementById('search').value = address.search ?? '';
    flame.colouring = toolbar.colouring;
    toolbar.show();
  }
}
