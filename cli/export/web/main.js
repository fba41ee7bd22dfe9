// Puts the page together: what a person chooses changes the state, and the state what is shown.

import { node_at_path, path_of } from './data/address.js';
import { make_tree, sum_functions } from './data/call_tree.js';
import { with_frames } from './data/frame_kinds.js';
import { load_profile, WEIGHTS } from './data/profile.js';
import { compile_query, find_matches, match_functions } from './data/search.js';
import { make_selection, sum_rows, sum_weight } from './data/selection.js';
import { format_count, format_percent, format_signed, format_time, format_weight } from './data/text.js';
import { clear_transforms, has_transforms, make_transforms, with_transforms } from './data/transforms.js';
import { show_chips } from './views/chips.js';
import { Colours } from './views/colours.js';
import { FlameChart } from './views/flame_chart.js';
import { FlameGraph } from './views/flame_graph.js';
import { describe, facts_of_box, facts_of_node, hide_tooltip, place_of_function, show_tooltip } from './views/frame_facts.js';
import { FunctionTable } from './views/function_table.js';
import { show_heading } from './views/heading.js';
import { Menu } from './views/menu.js';
import { Panes } from './views/panes.js';
import { Tabs } from './views/tabs.js';
import { Timeline } from './views/timeline.js';
import { Toolbar } from './views/toolbar.js';
import { TreeTable } from './views/tree_table.js';
import { menu_items } from './frame_menu.js';
import { listen_to_keys } from './keys.js';
import { Place } from './place.js';

const by_id = (id) => document.getElementById(id);

class Page {
  constructor(profile) {
    this.profile = profile;
    this.selection = make_selection(profile);
    this.transforms = make_transforms();
    this.colours = new Colours(profile);
    this.views = {};  // of with_frames, made when they are needed
    this.func = null;  // what callers and lines are shown of
    this.node = 0;  // the frame that is selected, in all views of the tree
    this.matched = null;
    this.next_match = 0;
    show_heading(profile);
    this.menu = new Menu();
    this.make_views();
    this.listen();
    this.place = new Place(this);
    this.place.read();
  }

  make_views() {
    const { profile, selection, colours } = this;
    const name_of = (node) => this.name_of(node);
    this.toolbar = new Toolbar(profile, selection, { changed: () => this.update(), recoloured: () => this.recolour() });
    this.table = new FunctionTable(profile, (func) => this.pick(func), () => this.place.write());
    this.panes = new Panes(profile, (func) => this.pick(func));
    this.flame = new FlameGraph(by_id('stage'), by_id('canvas'), by_id('spacer'), colours, {
      selected: (node) => this.select(node),
      zoomed: (node) => {
        by_id('reset').hidden = node === 0;
        this.place.write();
      },
      pointed: (node, x, y) => this.point(node, x, y),
      menu: (node, x, y) => this.open_menu(this.tree.func[node], node, x, y),
    }, name_of);
    this.timeline = new Timeline(profile, selection, colours, () => this.update());
    this.chart = new FlameChart(profile, colours, this.timeline.lanes, {
      selected: (box) => this.select_box(box),
      pointed: (box, x, y) => box ? show_tooltip(profile.functions.name[box.func], place_of_function(profile, box.func), facts_of_box(box), x, y)
                                  : hide_tooltip(),
      menu: (func, x, y) => this.open_menu(func, null, x, y),
      moved: () => this.place.write(),
    }, (func) => profile.functions.name[func]);
    this.tree_table = new TreeTable(by_id('tree'), {
      selected: (node) => this.select(node),
      menu: (node, x, y) => this.open_menu(this.tree.func[node], node, x, y),
    }, name_of);
    this.view_tabs = new Tabs('views', { graph: 'stage', chart: 'chart', tree: 'tree' }, () => this.show_view());
    this.pane_tabs = new Tabs('panes', { functions: 'functions', callers: 'callers', lines: 'lines', locks: 'locks' }, () => this.show_pane());
  }

  // Everything that depends on the selection. What was zoomed to or selected stays if it is there still.
  update() {
    const { profile, selection, toolbar } = this;
    const stays = this.tree && this.was_inverted === toolbar.inverted;
    const [zoomed, selected] = stays ? [path_of(this.tree, this.flame.zoom), path_of(this.tree, this.node)] : ['', ''];
    const kind = this.views[toolbar.kinds] ??= with_frames(profile, toolbar.kinds);
    this.shown = with_transforms(kind, this.transforms);
    this.sums = sum_rows(this.shown, selection);
    this.was_inverted = toolbar.inverted;
    this.tree = make_tree(this.shown, this.sums, toolbar.inverted);
    this.node = 0;
    this.flame.show(this.tree);
    this.tree_table.show(this.tree, selection.weight);
    this.go_to(zoomed, selected);
    this.table.show(sum_functions(this.shown, this.sums), this.tree.value[0], selection.weight);
    this.timeline.mark();
    show_chips(profile, selection, this.transforms, () => this.update());
    this.show_matches();
    this.show_view();
    this.show_pane();
    this.say(this.node);
    this.place.write();
  }

  // Both as paths of functions; what is no longer there is left out.
  go_to(zoomed, selected) {
    const { func } = this;
    const zoom = node_at_path(this.tree, zoomed) ?? 0;
    this.flame.zoom_to(zoom);
    const node = node_at_path(this.tree, selected);
    if (node) this.flame.select(node);
    this.func = func;
  }

  show_summary() {
    const { profile, selection, tree } = this;
    const { weight, threads } = selection;
    if (this.view_tabs.current === 'chart') {
      by_id('summary').textContent = `${profile.threads.name[this.chart.thread]} ${profile.threads.tid[this.chart.thread]}`;
      by_id('unseen-time').hidden = true;
      return;
    }
    const label = WEIGHTS.find(({ key }) => key === weight).label;
    by_id('summary').textContent = format_weight(tree.value[0], weight) + (weight === 'samples' ? '' : ` of ${label}`) +
      (profile.threads.base ? `, ${format_signed(tree.value[0] - tree.base[0], weight)}` : '') +
      (threads.size > 0 ? `, ${threads.size} of ${profile.threads.name.length} threads` : '');
    this.show_unseen();
  }

  // Threads that wait have no CPU time: then most of what happened is not in the picture.
  show_unseen() {
    const { selection, tree } = this;
    const blocked = selection.weight === 'cpu' ? sum_weight(this.shown, selection, 'blocked') : 0;
    const whole = blocked + tree.value[0];
    by_id('unseen-time').hidden = blocked < 0.5 * whole || whole === 0 || !this.toolbar.has_weight('wall');
    by_id('unseen-time').firstElementChild.textContent =
      `${format_time(blocked)} of blocked time (${format_percent(blocked, whole)}) is not shown`;
  }

  show_view() {
    const view = this.view_tabs.current;
    if (view === 'chart') this.chart.show(this.shown, this.chart_thread());
    if (view === 'tree') this.tree_table.reveal(this.node);
    if (view === 'graph') this.flame.resize();
    this.show_summary();
    this.place.write();
  }

  // The first of those that were chosen, or the busiest.
  chart_thread() {
    const { threads } = this.selection;
    const order = this.timeline.groups.flatMap((group) => group.threads);
    return order.find((thread) => threads.has(thread)) ??
           order.reduce((most, thread) => this.profile.thread_sums.cpu[thread] > this.profile.thread_sums.cpu[most] ? thread : most, order[0]);
  }

  show_pane() {
    const pane = this.pane_tabs.current;
    by_id('function-count').hidden = pane !== 'functions';
    this.panes.show(pane, this.func, this);
    this.place.write();
  }

  name_of(node) {
    return node === 0 ? 'all' : this.profile.functions.name[this.tree.func[node]];
  }

  facts_of(node) {
    const place = node === 0 ? '' : place_of_function(this.profile, this.tree.func[node]);
    return [this.name_of(node), place, facts_of_node(this.tree, node, this.selection.weight, this.toolbar.inverted)];
  }

  point(node, x, y) {
    if (node < 0 || this.menu.is_open) hide_tooltip();
    else show_tooltip(...this.facts_of(node), x, y);
  }

  say(node) {
    describe(...this.facts_of(node));
  }

  select(node) {
    this.node = this.flame.selected = this.tree_table.selected = node;
    this.say(node);
    this.set_function(node === 0 ? this.func : this.tree.func[node]);
  }

  select_box(box) {
    if (!box) return;
    describe(this.profile.functions.name[box.func], place_of_function(this.profile, box.func), facts_of_box(box));
    this.set_function(box.func);
  }

  set_function(func) {
    this.func = func;
    if (this.pane_tabs.current !== 'functions') this.show_pane();
    else this.place.write();
  }

  // A function of a table: it is looked for as well.
  pick(func) {
    this.set_function(func);
    this.set_search(this.profile.functions.name[func]);
  }

  open_menu(func, node, x, y) {
    if (node === 0) return;
    hide_tooltip();
    this.menu.open(x, y, this.profile.functions.name[func], menu_items(this, func, node));
  }

  zoom_in(node) {
    this.view_tabs.choose('graph');
    this.flame.zoom_to(node);
  }

  // The functions from a node outwards, one a line.
  stack_of(node) {
    const names = [];
    for (let at = node; at > 0; at = this.tree.parent[at]) names.push(this.name_of(at));
    return names.join('\n');
  }

  // Of the flame chart: all views show only that. All of it: no choice.
  select_seen_time() {
    if (this.view_tabs.current !== 'chart') return;
    const { profile, selection, chart } = this;
    const [from, to] = chart.window;
    const is_all = from === 0 && to === profile.duration_ns;
    selection.range = is_all ? null : [from / profile.slice_ns, to / profile.slice_ns];
    this.update();
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
    this.place.write();
  }

  show_matches() {
    this.flame.matched = this.matched;
    this.chart.matched = this.matched;
    this.tree_table.search(this.matched);
    this.table.search(this.matched);
    this.matches = this.matched ? find_matches(this.tree, this.matched) : { nodes: [], width: 0 };
    by_id('found').textContent = !this.matched ? '' : this.matches.nodes.length === 0 ? 'no match' :
      `${format_percent(this.matches.width, this.tree.width[0])} in ${format_count(this.matches.nodes.length)} ` +
      `${this.matches.nodes.length === 1 ? 'place' : 'places'}`;
    this.flame.draw();
    this.chart.draw();
  }

  go_to_next_match() {
    const { nodes } = this.matches;
    if (nodes.length === 0) return;
    const node = nodes[this.next_match % nodes.length];
    if (this.view_tabs.current === 'tree') this.tree_table.reveal(node);
    else this.flame.select(node);
    ++this.next_match;
  }

  // Escape takes back one thing after the other.
  step_back() {
    const { selection, transforms } = this;
    if (this.flame.zoom !== 0) return this.flame.zoom_to(0);
    if (by_id('search').value !== '') return this.set_search('');
    if (has_transforms(transforms)) {
      clear_transforms(transforms);
    } else if (selection.range || selection.threads.size > 0) {
      selection.range = null;
      selection.threads.clear();
    } else {
      return;
    }
    this.update();
  }

  recolour() {
    this.flame.colouring = this.toolbar.colouring;
    this.flame.draw();
    this.place.write();
  }

  listen() {
    listen_to_keys(this);
    by_id('unseen-time').querySelector('button').addEventListener('click', () => this.toolbar.set_weight('wall'));
    by_id('search').addEventListener('input', () => this.search());
    by_id('search').addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.go_to_next_match();
    });
    by_id('reset').addEventListener('click', () => this.flame.zoom_to(0));
    by_id('help-button').addEventListener('click', () => by_id('help').showModal());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.colours.refresh();
      this.flame.draw();
      this.chart.draw();
      this.timeline.draw();
    });
  }
}

new Page(load_profile(by_id('profile').textContent));
document.documentElement.dataset.ready = 'yes';
