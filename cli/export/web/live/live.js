// The page of `swipr view --live`: takes the events of the process, and paints what has changed with
// each of them, unless somebody has paused it or is pressing a button.

import { node_at_path, path_of, read_address } from '../data/address.js';
import { make_tree, sum_functions } from '../data/call_tree.js';
import { compile_query, find_matches, match_functions } from '../data/search.js';
import { format_percent } from '../data/text.js';
import { Colours } from '../views/colours.js';
import { FlameGraph } from '../views/flame_graph.js';
import { describe, facts_of_node, hide_tooltip, place_of_function, show_tooltip } from '../views/frame_facts.js';
import { copy_text, Menu } from '../views/menu.js';
import { Tabs } from '../views/tabs.js';
import { choose_sets } from './call_parts.js';
import { Controls } from './controls.js';
import { FunctionList } from './function_list.js';
import { HeatMap, show_axis } from './heat_map.js';
import { LatencyPane } from './latency_pane.js';
import { LivePanes } from './live_panes.js';
import { show_totals, text_of_summary } from './live_text.js';
import { KEPT_SECONDS, Model } from './model.js';
import { compare_calls, mark_nodes, rank_nodes, sum_nodes, sum_seconds, sum_threads } from './sums.js';
import { ThreadList } from './thread_list.js';
import { find_trends } from './trends.js';
import { TimeWindow } from './window.js';

const MAX_ERRORS = 3;
const BESIDE_CALLS = ['slow call', 'other call', 'difference'];
const HELD_MS = 5000;  // fields that open a list of their own do not tell that the button is released

const part = (id) => document.getElementById(id);

class LivePage {
  constructor() {
    this.model = new Model();
    this.selection = { weight: 'cpu', threads: new Set(), range: null, sets: null };
    this.paused_at = null;  // seconds; null: follows
    this.baseline = null;  // { self, covered, calls }
    this.func = null;
    this.matches_query = null;
    this.connection = 'connecting';
    this.held_until = 0;
    this.menu = new Menu();
    this.controls = new Controls(this);
    this.make_views();
    this.listen();
    this.search();
    this.follow();
  }

  make_views() {
    const { model, selection } = this;
    this.colours = new Colours(model);
    this.flame = new FlameGraph(part('stage'), part('canvas'), part('spacer'), this.colours, {
      selected: (node) => this.select(node),
      zoomed: () => this.update(),
      pointed: (node, x, y) => node < 0 || this.menu.is_open ? hide_tooltip() : show_tooltip(...this.facts_of(node), x, y),
      menu: (node, x, y) => this.open_menu(this.tree.func[node], node, x, y),
    }, (node) => this.name_of(node));
    this.heat = new HeatMap(part('lanes'), part('heat'), {
      brushed: (range) => {
        this.selection.range = range;
        this.update();
      },
      pointed: (second, bin, x, y) => bin === null ? hide_tooltip()
        : show_tooltip('Samples of running threads', '', this.heat.facts_of(second, bin, this.now), x, y),
    });
    this.threads = new ThreadList(part('lanes'), this.selection, this.colours, () => this.update());
    this.functions = new FunctionList(part('functions'), {
      picked: (func) => this.pick(func), menu: (func, x, y) => this.open_menu(func, null, x, y), sorted: () => this.update(),
    });
    this.panes = new LivePanes(model, (func) => this.pick(func));
    this.latency = new LatencyPane(model, read_address(), {
      changed: () => this.controls.changed(),
      // Slow calls wait: of CPU time they may have none.
      narrowed: () => selection.weight === 'cpu' && this.controls.set_weight('wall'),
    });
    this.tabs = new Tabs('panes', { functions: 'functions', callers: 'callers', waits: 'waits', locks: 'locks', latency: 'latency' }, () => this.update());
  }

  follow() {
    const source = new EventSource('events');
    let errors = 0;  // after one, the browser tries again by itself
    source.onopen = () => {
      errors = 0;
      this.model.reset();
      this.threads.reset();
      this.colours.refresh();
      this.baseline = null;
      this.tree = null;
      this.selection.threads.clear();
      this.connection = 'live';
    };
    source.onmessage = ({ data }) => {
      this.model.take(JSON.parse(data));
      if (this.model.ended) {
        this.connection = 'the process has ended';
        source.close();
      }
      if (this.paused_at === null && !this.is_held && !this.model.behind) this.update();
      else this.show_state();
    };
    source.onerror = () => {
      if (++errors >= MAX_ERRORS) source.close();
      this.connection = 'not connected: swipr has ended';
      this.show_state();
    };
  }

  get is_held() {
    return performance.now() < this.held_until;
  }

  // Of what is shown, in seconds.
  get now() {
    return this.paused_at ?? this.model.now;
  }

  // Paints before the next picture of the screen. Pages that nobody sees are not painted.
  update() {
    if (this.is_waiting) return;
    this.is_waiting = true;
    requestAnimationFrame(() => {
      this.is_waiting = false;
      this.paint();
    });
  }

  paint() {
    const { model, selection, controls } = this;
    if (model.nodes.count === 0) return this.show_state();
    this.window = new TimeWindow(controls.window, selection.range, this.now);
    this.latency.measure(this.window, this.baseline?.calls);
    this.sums = this.sum_selection();
    this.match();
    this.paint_graph();
    this.paint_time();
    this.paint_side();
    this.show_state();
    document.documentElement.dataset.ready = 'yes';
    document.documentElement.dataset.painted = Number(document.documentElement.dataset.painted ?? 0) + 1;
  }

  sum_selection() {
    const { model, window, selection, latency } = this;
    const filters = latency.list_filters();
    const sums_of = (part) => sum_nodes(model, window, { ...selection, sets: choose_sets(model, filters.map(
      (filter) => filter.part === 'difference' ? { ...filter, part } : filter)) });
    selection.sets = choose_sets(model, filters);
    if (this.compares_calls) {
      return compare_calls({ sums: sums_of('slow'), calls: latency.slow.calls }, { sums: sums_of('normal'), calls: latency.others.calls });
    }
    return { ...sum_nodes(model, window, selection), base: this.baseline && this.scaled_baseline() };
  }

  // What is shown is of one call, beside one of the others.
  get compares_calls() {
    return this.latency.filter()?.part === 'difference';
  }

  scaled_baseline() {
    const { self, covered } = this.baseline;
    const base = new Float64Array(this.model.nodes.count);
    const scale = this.window.covered / covered;
    self.forEach((value, node) => { base[node] = value * scale; });
    return base;
  }

  paint_graph() {
    const { model, flame, controls } = this;
    const { inverted } = controls;
    const is_same = this.tree && this.was_inverted === inverted;
    const path = is_same && inverted ? path_of(this.tree, flame.zoom) : '';
    this.tree = make_tree(model, this.sums, inverted, inverted ? null : rank_nodes(model));
    this.was_inverted = inverted;
    flame.matched = this.matched;
    if (is_same && inverted) {  // its nodes have other numbers each time
      flame.zoom = node_at_path(this.tree, path) ?? 0;
      flame.selected = 0;
    }
    if (is_same) flame.refresh(this.tree);
    else flame.show(this.tree);
    part('reset').hidden = flame.zoom === 0;
    this.show_summary();
  }

  // What the heat map and the lanes are of: what is zoomed to, and what was searched for.
  paint_time() {
    const { model, selection, controls, now } = this;
    const top = controls.inverted ? -1 : this.flame.zoom - 1;
    const marks = mark_nodes(model, this.matched, top);
    const count = Math.min(controls.span, KEPT_SECONDS);
    const axis = { first: Math.floor(now) + 1 - count, count };
    const { heat, lanes } = sum_seconds(model, axis, now, selection, marks);
    const { sums, whole } = sum_threads(model, this.window, selection.sets, marks);
    const range = selection.range ?? (this.window.has_older || this.window.fading > 0 ? null : [this.window.from, this.window.to]);
    this.threads.show(model, lanes, sums, this.window.covered * 1e9);
    if (!this.heat.is_dragging) this.heat.show(axis, heat, range);
    part('range').classList.toggle('faint', !selection.range);
    show_axis(part('axis'), axis, now);
    this.latency.show({ axis, is_open: this.tabs.current === 'latency' });
    controls.show_chips(selection, this.latency.list_filters(), model, now);
    show_totals(part('totals'), model, this.window, whole, lanes.size);
  }

  paint_side() {
    const { model, selection } = this;
    part('function-count').hidden = this.tabs.current !== 'functions';
    if (this.tabs.current === 'latency') return;
    if (this.tabs.current !== 'functions') {
      return this.panes.show(this.tabs.current, { func: this.func, profile: model, sums: this.sums, window: this.window, selection });
    }
    const sums = sum_functions(model, this.sums);
    const shown = this.functions.choose(sums, this.matched, this.compares_calls);
    const trends = find_trends(model, this.now, selection, shown, this.functions.order === 'total');
    this.functions.show(model, sums, shown, trends, {
      whole: this.tree.value[0], base_whole: this.tree.base ? this.tree.base[0] : null, weight: selection.weight,
      compares_calls: this.compares_calls });
  }

  show_summary() {
    part('summary').textContent = text_of_summary(this.tree, this.selection.weight, this.window, this.compares_calls);
    const matches = this.matched ? find_matches(this.tree, this.matched) : null;
    part('found').textContent = !matches ? '' : matches.nodes.length === 0 ? 'no match' : `${format_percent(matches.width, this.tree.width[0])} match`;
  }

  show_state() {
    const { model } = this;
    document.title = `${model.title} – swipr`;
    part('title').textContent = model.title;
    this.controls.show_state({
      is_paused: this.paused_at !== null, has_baseline: this.baseline !== null,
      state: this.connection === 'live' && this.paused_at !== null ? 'paused' : this.connection,
    });
  }

  name_of(node) {
    return node === 0 ? 'all' : this.model.functions.name[this.tree.func[node]];
  }

  facts_of(node) {
    const place = node === 0 ? '' : place_of_function(this.model, this.tree.func[node]);
    return [this.name_of(node), place, facts_of_node(this.tree, node, this.selection.weight, this.controls.inverted, this.compares_calls ? BESIDE_CALLS : undefined)];
  }

  select(node) {
    describe(...this.facts_of(node));
    if (node !== 0) this.set_function(this.tree.func[node]);
  }

  set_function(func) {
    this.func = func;
    if (this.tabs.current === 'callers') this.update();
  }

  // A function of a table: it is looked for as well.
  pick(func) {
    this.set_function(func);
    this.controls.set_search(this.model.functions.name[func]);
  }

  search() {
    const field = part('search');
    field.setCustomValidity('');
    try {
      this.matches_query = compile_query(field.value);
    } catch (error) {
      field.setCustomValidity(error.message);
      this.matches_query = null;
    }
    this.matched = null;
    this.update();
  }

  // Functions are added all the time.
  match() {
    const count = this.model.functions.name.length;
    if (!this.matches_query) this.matched = null;
    else if (this.matched?.length !== count) this.matched = match_functions(this.model, this.matches_query);
  }

  pause() {
    this.paused_at = this.paused_at === null ? this.model.now : null;
    this.model.keeps_all = this.paused_at !== null;
    this.update();
  }

  take_baseline() {
    this.baseline = this.baseline ? null : {
      self: this.sums.self.slice(), covered: this.window.covered, calls: this.latency.sums_of_all(this.window),
    };
    this.update();
  }

  zoom_out() {
    this.flame.zoom_to(0);
  }

  // Escape takes back one thing after the other.
  step_back() {
    const { selection } = this;
    if (this.flame.zoom !== 0) return this.zoom_out();
    if (this.controls.search !== '') return this.controls.set_search('');
    const filter = this.latency.list_filters().at(-1);
    if (filter) filter.clear();
    else if (selection.range) selection.range = null;
    else if (selection.threads.size > 0) selection.threads.clear();
    else if (this.paused_at !== null) return this.pause();
    this.update();
  }

  open_menu(func, node, x, y) {
    if (node === 0) return;
    hide_tooltip();
    const name = this.model.functions.name[func];
    const stack = [];
    for (let at = node; at > 0; at = this.tree.parent[at]) stack.push(this.name_of(at));
    this.menu.open(x, y, name, [
      { label: 'Search for it', act: () => this.pick(func) },
      ...node === null ? [] : [{ label: 'Zoom in', act: () => this.flame.zoom_to(node) }],
      { label: 'Callers and callees', act: () => {
        this.func = func;
        this.tabs.choose('callers');
        this.update();
      } },
      { label: 'Copy name', act: () => copy_text(name) },
      ...node === null ? [] : [{ label: 'Copy stack', act: () => copy_text(stack.join('\n')) }],
    ]);
  }

  open_menu_by_key() {
    const node = this.flame.selected;
    if (node > 0) this.open_menu(this.tree.func[node], node, ...this.flame.place_of(node));
  }

  listen() {
    // What is pressed must not move away before it is released.
    addEventListener('pointerdown', () => { this.held_until = performance.now() + HELD_MS; }, true);
    for (const type of ['pointerup', 'pointercancel']) {
      addEventListener(type, () => setTimeout(() => { this.held_until = 0; }), true);
    }
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.colours.refresh();
      this.heat.refresh_colours();
      this.update();
    });
    new ResizeObserver(() => this.update()).observe(part('timeline'));
  }
}

new LivePage();
