// Puts the page together: what a person chooses changes the selection, and the selection what is shown.

import { make_tree, sum_functions } from './call_tree.js';
import { Colours } from './colours.js';
import { has_languages, with_frames } from './frame_kinds.js';
import { FlameGraph } from './flame_graph.js';
import { FunctionTable } from './function_table.js';
import { show_heading } from './heading.js';
import { load_profile, STATES, WEIGHTS } from './profile.js';
import { compile_query, find_matches, match_functions } from './search.js';
import { make_selection, sum_rows } from './selection.js';
import { base_name, element, format_count, format_percent, format_signed, format_time, format_weight } from './text.js';
import { Timeline } from './timeline.js';

const by_id = (id) => document.getElementById(id);

class Page {
  constructor(profile) {
    this.profile = profile;
    this.selection = make_selection(profile);
    this.colours = new Colours(profile);
    this.views = {};  // of with_frames, made when they are needed
    by_id('kinds-field').hidden = !has_languages(profile);
    this.matched = null;
    this.next_match = 0;
    show_heading(profile);
    this.make_toolbar();
    this.table = new FunctionTable(profile, (name) => this.set_search(name));
    this.flame = new FlameGraph(by_id('stage'), by_id('canvas'), by_id('spacer'), this.colours, {
      selected: (node) => this.describe(node),
      zoomed: (node) => { by_id('reset').hidden = node === 0; },
      pointed: (node, x, y) => this.point(node, x, y),
    }, (node) => this.name_of(node));
    this.timeline = new Timeline(profile, this.selection, this.colours, () => this.update());
    this.listen();
    this.update();
  }

  make_toolbar() {
    const { profile, selection } = this;
    const has_weight = ({ key }) => key === selection.weight || profile.rows[key].some((value) => value !== 0);
    by_id('weight').replaceChildren(...WEIGHTS.filter(has_weight).map(({ key, label }) =>
      element('option', label, { value: key })));
    by_id('weight').value = selection.weight;
    by_id('inverted').checked = profile.inverted;
    const has_unknown = profile.rows.state.includes(STATES.findIndex(({ key }) => key === 'unknown'));
    STATES.forEach(({ key, label }, state) => {
      if (key === 'unknown' && !has_unknown) return;
      const field = element('label');
      const box = element('input', '', { type: 'checkbox', value: key });
      box.checked = true;
      box.addEventListener('change', () => {
        selection.states[state] = box.checked;
        this.update();
      });
      const swatch = element('i');
      swatch.style.background = `var(--${key})`;
      field.append(box, swatch, element('span', label));
      by_id('states').append(field);
    });
    if (profile.threads.base) by_id('colouring').closest('label').hidden = true;
  }

  // Everything that depends on the selection.
  update() {
    const { profile, selection } = this;
    this.shown = this.views[by_id('kinds').value] ??= with_frames(profile, by_id('kinds').value);
    this.sums = sum_rows(this.shown, selection);
    this.tree = make_tree(this.shown, this.sums, by_id('inverted').checked);
    this.flame.show(this.tree);
    by_id('reset').hidden = true;
    this.table.show(sum_functions(this.shown, this.sums), this.tree.value[0], selection.weight);
    const chosen = selection.threads.size;
    const label = WEIGHTS.find(({ key }) => key === selection.weight).label;
    by_id('summary').textContent = format_weight(this.tree.value[0], selection.weight) +
      (selection.weight === 'samples' ? '' : ` of ${label}`) +
      (profile.threads.base ? `, ${format_signed(this.tree.value[0] - this.tree.base[0], selection.weight)}` : '') +
      (chosen > 0 ? `, ${chosen} of ${profile.threads.name.length} threads` : '');
    this.show_filters();
    this.show_matches();
    this.describe(0);
  }

  show_filters() {
    const { profile, selection } = this;
    const chips = [];
    const add = (text, clear) => {
      const chip = element('button', `${text} ✕`, { type: 'button', title: 'Remove this filter' });
      chip.addEventListener('click', () => {
        clear();
        this.timeline.mark();
        this.update();
      });
      chips.push(chip);
    };
    if (selection.threads.size > 0) {
      const [first] = selection.threads;
      add(selection.threads.size === 1 ? `only ${profile.threads.name[first]}` : `${selection.threads.size} threads`,
          () => selection.threads.clear());
    }
    if (selection.range) {
      const [from, to] = selection.range.map((slice) => format_time(slice * profile.duration_ns / profile.slices));
      add(`${from} – ${to}`, () => { selection.range = null; });
    }
    by_id('filters').replaceChildren(...chips);
  }

  name_of(node) {
    if (node === 0) return 'all';
    return this.profile.functions.name[this.tree.func[node]];
  }

  // "libc.so.6 · poll.c:29"
  place_of(node) {
    const { functions, module_names } = this.profile;
    const func = this.tree.func[node];
    if (node === 0) return '';
    const module = functions.module[func] === null ? '' : module_names[functions.module[func]];
    const line = functions.line[func] ? `:${functions.line[func]}` : '';
    const file = functions.file[func] === '' ? '' : `${base_name(functions.file[func])}${line}`;
    return [module, file].filter((part) => part !== '').join(' · ');
  }

  // [what, how much, share] of a node.
  facts_of(node) {
    const { tree, selection } = this;
    const { weight } = selection;
    const whole = tree.value[0];
    const facts = [];
    if (tree.base) {
      facts.push(['now', format_weight(tree.value[node], weight), format_percent(tree.value[node], whole)],
                 ['before', format_weight(tree.base[node], weight), format_percent(tree.base[node], tree.base[0])],
                 ['change', format_signed(tree.value[node] - tree.base[node], weight), '']);
      return facts;
    }
    facts.push(['total', format_weight(tree.value[node], weight), format_percent(tree.value[node], whole)]);
    if (tree.self[node] > 0) {
      facts.push([by_id('inverted').checked ? 'stacks end here' : 'self', format_weight(tree.self[node], weight),
                  format_percent(tree.self[node], whole)]);
    }
    STATES.forEach(({ key }, state) => {
      const value = tree.states[state][node];
      if (value > 0 && value < tree.value[node] * 0.9999) {
        facts.push([key, format_weight(value, weight), format_percent(value, tree.value[node])]);
      }
    });
    return facts;
  }

  point(node, x, y) {
    const tip = by_id('tooltip');
    tip.hidden = node < 0;
    if (node < 0) return;
    const facts = element('table');
    for (const fact of this.facts_of(node)) {
      const row = element('tr');
      row.append(...fact.map((text) => element('td', text)));
      facts.append(row);
    }
    tip.replaceChildren(element('b', this.name_of(node)), element('span', this.place_of(node), { class: 'place' }), facts);
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${y + 18 + height > innerHeight ? Math.max(8, y - height - 10) : y + 18}px`;
  }

  describe(node) {
    const facts = this.facts_of(node).map((fact) => fact.filter((text) => text !== '').join(' '));
    by_id('selected').replaceChildren(element('b', this.name_of(node)), ` ${this.place_of(node)} — ${facts.join(' · ')}`);
    by_id('spoken').textContent = `${this.name_of(node)}, ${facts.join(', ')}`;
  }

  set_search(text) {
    by_id('search').value = text;
    this.search();
  }

  search() {
    const field = by_id('search');
    field.setCustomValidity('');
    this.next_match = 0;
    try {
      const matches = compile_query(field.value);
      this.matched = matches && match_functions(this.profile, matches);
    } catch (error) {
      field.setCustomValidity(error.message);
      by_id('found').textContent = error.message;
      this.matched = null;
      return;
    }
    this.show_matches();
  }

  show_matches() {
    this.flame.matched = this.matched;
    this.table.search(this.matched);
    this.matches = this.matched ? find_matches(this.tree, this.matched) : { nodes: [], width: 0 };
    by_id('found').textContent = !this.matched ? '' : this.matches.nodes.length === 0 ? 'no match' :
      `${format_percent(this.matches.width, this.tree.width[0])} in ${format_count(this.matches.nodes.length)} ` +
      `${this.matches.nodes.length === 1 ? 'place' : 'places'}`;
    this.flame.draw();
  }

  go_to_next_match() {
    const { nodes } = this.matches;
    if (nodes.length === 0) return;
    this.flame.select(nodes[this.next_match % nodes.length]);
    ++this.next_match;
  }

  // Escape takes back one thing after the other.
  step_back() {
    if (this.flame.zoom !== 0) return this.flame.zoom_to(0);
    if (by_id('search').value !== '') return this.set_search('');
    if (this.selection.range || this.selection.threads.size > 0) {
      this.selection.range = null;
      this.selection.threads.clear();
      this.timeline.mark();
      this.update();
    }
  }

  on_key(event) {
    const typing = event.target instanceof HTMLInputElement && event.target.type === 'search';
    if (by_id('help').open || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === 'Escape') {
      event.preventDefault();
      if (typing) by_id('stage').focus();
      return this.step_back();
    }
    if (typing || event.target instanceof HTMLSelectElement) return;
    const weight = by_id('weight').options[Number(event.key) - 1];
    if (event.key === '/') by_id('search').focus();
    else if (event.key === 'i') by_id('inverted').click();
    else if (event.key === '?') by_id('help').showModal();
    else if (weight) this.set_weight(weight.value);
    else return;
    event.preventDefault();
  }

  set_weight(key) {
    by_id('weight').value = key;
    this.selection.weight = key;
    this.update();
  }

  listen() {
    by_id('toolbar').addEventListener('submit', (event) => event.preventDefault());
    by_id('weight').addEventListener('change', (event) => this.set_weight(event.target.value));
    by_id('inverted').addEventListener('change', () => this.update());
    by_id('kinds').addEventListener('change', () => this.update());
    by_id('colouring').addEventListener('change', (event) => {
      this.flame.colouring = event.target.value;
      this.flame.draw();
    });
    by_id('search').addEventListener('input', () => this.search());
    by_id('search').addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.go_to_next_match();
    });
    by_id('reset').addEventListener('click', () => this.flame.zoom_to(0));
    by_id('help-button').addEventListener('click', () => by_id('help').showModal());
    document.addEventListener('keydown', (event) => this.on_key(event));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.colours.refresh();
      this.flame.draw();
      this.timeline.draw();
    });
  }
}

new Page(load_profile(by_id('profile').textContent));
document.documentElement.dataset.ready = 'yes';
