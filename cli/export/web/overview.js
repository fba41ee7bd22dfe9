// The first page of `swipr view`: every thread over time, and the same as short tables.

import { path_of } from './data/address.js';
import { make_tree, sum_functions } from './data/call_tree.js';
import { find_waits } from './data/waits.js';
import { Colours } from './views/colours.js';
import { FlameGraph } from './views/flame_graph.js';
import { describe, facts_of_node, hide_tooltip, place_of_function, show_tooltip } from './views/frame_facts.js';
import { show_heading } from './views/heading.js';
import { load_profile, STATES } from './data/profile.js';
import { make_selection, sum_rows } from './data/selection.js';
import { element, format_percent, format_time } from './data/text.js';
import { deadlock_lines, lock_text, make_table } from './views/table.js';
import { Timeline } from './views/timeline.js';

const MAX_ROWS = 15;

// The page with the flame graph, at a place of it.
function link_to(state) {
  return `flame#${new URLSearchParams(state)}`;
}

function fill_table(id, heads, rows) {
  document.getElementById(id).replaceChildren(...make_table(heads, rows).childNodes);
}

class Overview {
  constructor(profile) {
    this.profile = profile;
    this.selection = make_selection(profile);
    this.colours = new Colours(profile);
    show_heading(profile);
    this.show_legend();
    this.make_flame();
    this.show_locks();
    this.timeline = new Timeline(profile, this.selection, this.colours, () => this.update());
    this.listen();
    this.update();
  }

  show_legend() {
    document.getElementById('legend').replaceChildren(...STATES.slice(0, 3).map(({ key, label }) => {
      const entry = element('span');
      const swatch = element('i');
      swatch.style.background = `var(--${key})`;
      entry.append(swatch, element('span', label));
      return entry;
    }));
  }

  make_flame() {
    const part = (id) => document.getElementById(id);
    const facts = (node) => [node === 0 ? 'all' : this.name_of(node),
                             node === 0 ? '' : place_of_function(this.profile, this.tree.func[node]),
                             facts_of_node(this.tree, node, this.selection.weight, false)];
    this.flame = new FlameGraph(part('stage'), part('canvas'), part('spacer'), this.colours, {
      selected: (node) => describe(...facts(node)),
      zoomed: (node) => { if (node !== 0) location.href = link_to({ ...this.address(), zoom: path_of(this.tree, node) }); },
      pointed: (node, x, y) => node < 0 ? hide_tooltip() : show_tooltip(...facts(node), x, y),
      menu: () => {},
    }, (node) => node === 0 ? 'all' : this.name_of(node));
  }

  name_of(node) {
    return this.profile.functions.name[this.tree.func[node]];
  }

  // The selection as the other page's address has it.
  address() {
    const { threads, range } = this.selection;
    return {
      ...threads.size > 0 ? { threads: [...threads].map((thread) => this.profile.threads.tid[thread]).join(',') } : {},
      ...range ? { range: range.map((slice) => Math.round(slice * this.profile.slice_ns)).join(',') } : {},
    };
  }

  show_flame() {
    this.tree = make_tree(this.profile, sum_rows(this.profile, this.selection), false);
    this.flame.show(this.tree);
    this.flame.select(0);
  }

  show_locks() {
    const { locks, deadlocks } = this.profile;
    document.getElementById('locks-section').hidden = locks.length === 0;
    const whole = locks.reduce((all, { waited_ns }) => all + waited_ns, 0);
    document.getElementById('deadlocks').replaceChildren(...deadlock_lines(deadlocks));
    fill_table('locks', ['Share', 'Time', 'Wanted, and what its holder was in'],
      locks.slice(0, MAX_ROWS).map(({ wanted, lock, holder, waited_ns }) =>
        [waited_ns / whole, [format_percent(waited_ns, whole), format_time(waited_ns)], lock_text(wanted, holder),
         link_to({ pane: 'locks', weight: 'wall', search: lock === '' ? holder : lock })]));
  }

  // [weight of each function in all, self weight of each function, whole]
  sum(weight, states) {
    const selection = { ...this.selection, weight, states };
    const sums = sum_rows(this.profile, selection);
    const functions = sum_functions(this.profile, sums);
    return { ...functions, whole: sums.self.reduce((all, value) => all + value, 0) };
  }

  update() {
    this.show_flame();
    this.show_hot();
    this.show_waits();
    this.show_threads();
    const { threads, range } = this.selection;
    const parts = [];
    if (threads.size > 0) parts.push(threads.size === 1 ? this.profile.threads.name[[...threads][0]] : `${threads.size} threads`);
    if (range) {
      parts.push(range.map((slice) => format_time(slice * this.profile.duration_ns / this.profile.slices)).join(' – '));
    }
    document.getElementById('chosen').textContent = parts.length > 0 ? `Only ${parts.join(', ')}` : '';
    document.getElementById('all').hidden = parts.length === 0;
  }

  show_hot() {
    const { self, total, whole } = this.sum('cpu', STATES.map(() => true));
    const { name } = this.profile.functions;
    const order = name.map((_, func) => func).filter((func) => self[func] > 0)
      .sort((a, b) => self[b] - self[a] || a - b).slice(0, MAX_ROWS);
    fill_table('hot', ['Self', 'Total', 'Function'], order.map((func) =>
      [self[func] / whole, [format_percent(self[func], whole), format_percent(total[func], whole)], name[func],
       link_to({ ...this.address(), weight: 'cpu', function: name[func], search: name[func], pane: 'callers' })]));
  }

  // By the function of the program that waits.
  show_waits() {
    const states = STATES.map(({ key }) => key === 'blocked');
    const { waits, whole } = find_waits(this.profile, { ...this.selection, weight: 'blocked', states });
    fill_table('blocked', ['Share', 'Time', 'Waiting in'], waits.slice(0, MAX_ROWS).map(({ call, caller, weight }) =>
      [weight / whole, [format_percent(weight, whole), format_time(weight)], caller === '' ? call : `${call} ← ${caller}`,
       link_to({ ...this.address(), weight: 'blocked', search: caller === '' ? call : caller })]));
  }

  show_threads() {
    const { rows, threads } = this.profile;
    const keys = ['cpu', 'runqueue', 'blocked'];
    const sums = threads.name.map(() => [0, 0, 0]);
    const { range, threads: chosen } = this.selection;
    for (let row = 0; row < rows.thread.length; ++row) {
      const from = rows.first[row];
      const end = rows.last[row] + 1;
      const inside = range ? Math.max(0, Math.min(end, range[1]) - Math.max(from, range[0])) / (end - from) : 1;
      keys.forEach((key, column) => { sums[rows.thread[row]][column] += rows[key][row] * inside; });
    }
    const most = Math.max(1, ...sums.map(([cpu]) => cpu));
    const order = sums.map((_, thread) => thread).filter((thread) => chosen.size === 0 || chosen.has(thread))
      .sort((a, b) => sums[b][0] - sums[a][0] || sums[b][1] - sums[a][1] || a - b).slice(0, MAX_ROWS);
    fill_table('by-thread', ['CPU', 'Run queue', 'Blocked', 'Thread'], order.map((thread) =>
      [sums[thread][0] / most, sums[thread].map(format_time), `${threads.name[thread]} (${threads.tid[thread]})`,
       link_to({ ...this.address(), threads: threads.tid[thread] })]));
  }

  choose_all() {
    this.selection.threads.clear();
    this.selection.range = null;
    this.timeline.mark();
    this.update();
  }

  listen() {
    document.getElementById('all').addEventListener('click', () => this.choose_all());
    document.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === 'Escape') return this.choose_all();
      if (event.target instanceof HTMLInputElement) return;
      if (event.key === '/') {
        document.getElementById('thread-search').focus();
        event.preventDefault();
      }
      // 1, 2, 3: the pages.
      document.querySelectorAll('#links a')[Number(event.key) - 1]?.click();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.colours.refresh();
      this.flame.draw();
      this.timeline.draw();
    });
  }
}

new Overview(load_profile(document.getElementById('profile').textContent));
document.documentElement.dataset.ready = 'yes';
