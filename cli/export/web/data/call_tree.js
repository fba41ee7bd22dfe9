// The tree that the flame graph shows: node 0 is everything, parents come before children, columns
// are typed arrays. With a base to compare with, a node is as wide as both together.

import { NO_FUNCTION, STATES } from './profile.js';

// Nodes in the order in which they are added, with sums that grow with each stack.
class TreeMaker {
  constructor(functions, has_base) {
    this.functions = functions;
    this.index = new Map();
    this.parent = [-1];
    this.function = [NO_FUNCTION];
    this.value = [0];
    this.base = has_base ? [0] : null;
    this.states = STATES.map(() => [0]);
  }

  child(parent, func) {
    const key = parent * this.functions + func;
    let node = this.index.get(key);
    if (node === undefined) {
      node = this.parent.length;
      this.index.set(key, node);
      this.parent.push(parent);
      this.function.push(func);
      this.value.push(0);
      this.base?.push(0);
      for (const state of this.states) state.push(0);
    }
    return node;
  }

  add(node, sums, source) {
    this.value[node] += sums.self[source];
    if (this.base) this.base[node] += sums.base[source];
    for (let state = 0; state < STATES.length; ++state) this.states[state][node] += sums.states[state][source];
  }
}

function is_empty(sums, node) {
  return sums.self[node] === 0 && !sums.base?.[node];
}

// Children of each node, the widest first, or by `rank` if it is given: children[first_child[n]] … children[first_child[n + 1] - 1].
function order_children(parent, width, rank) {
  const count = parent.length;
  const first_child = new Int32Array(count + 1);
  for (let node = 1; node < count; ++node) if (width[node] > 0) ++first_child[parent[node] + 1];
  for (let node = 0; node < count; ++node) first_child[node + 1] += first_child[node];
  const children = new Int32Array(first_child[count]);
  const next = first_child.slice();
  for (let node = 1; node < count; ++node) if (width[node] > 0) children[next[parent[node]]++] = node;
  const order = rank ?? width;
  for (let node = 0; node < count; ++node) {
    if (first_child[node + 1] - first_child[node] < 2) continue;
    children.subarray(first_child[node], first_child[node + 1]).sort((a, b) => order[b] - order[a] || a - b);
  }
  return { first_child, children };
}

function finish({ parent, func, value, base, states, rank }) {
  const count = parent.length;
  const width = base ? value.map((own, node) => own + base[node]) : value;
  const self = width.slice();
  const depth = new Uint16Array(count);
  for (let node = 1; node < count; ++node) {
    self[parent[node]] -= width[node];
    depth[node] = depth[parent[node]] + 1;
  }
  const max_self = self.reduce((most, own, node) => node === 0 ? most : Math.max(most, own), 0);
  return { parent, func, value, base, states, width, self, max_self, depth, ...order_children(parent, width, rank) };
}

// Callers above callees, from the outermost function of each stack.
function top_down(profile, sums, rank) {
  const count = profile.node_parent.length + 1;
  const shift = (column) => {
    const shifted = new Float64Array(count);
    shifted.set(column, 1);
    return shifted;
  };
  const parent = new Int32Array(count);
  const func = new Int32Array(count);
  parent[0] = -1;
  func[0] = NO_FUNCTION;
  for (let node = 1; node < count; ++node) {
    parent[node] = profile.node_parent[node - 1] + 1;
    func[node] = profile.node_function[node - 1];
  }
  const columns = { value: shift(sums.self), base: sums.base && shift(sums.base), states: sums.states.map(shift) };
  for (const column of [columns.value, columns.base, ...columns.states]) {
    if (column) for (let node = count - 1; node > 0; --node) column[parent[node]] += column[node];
  }
  return finish({ parent, func, ...columns, rank: rank && shift(rank) });
}

// Callees above callers: at the top the functions that the time was spent in.
function bottom_up(profile, sums) {
  const maker = new TreeMaker(profile.functions.name.length, sums.base !== null);
  for (let source = 0; source < profile.node_parent.length; ++source) {
    if (is_empty(sums, source)) continue;
    let node = 0;
    maker.add(node, sums, source);
    for (let at = source; at >= 0; at = profile.node_parent[at]) {
      node = maker.child(node, profile.node_function[at]);
      maker.add(node, sums, source);
    }
  }
  return finish({
    parent: Int32Array.from(maker.parent),
    func: Int32Array.from(maker.function),
    value: Float64Array.from(maker.value),
    base: maker.base && Float64Array.from(maker.base),
    states: maker.states.map((state) => Float64Array.from(state)),
  });
}

// `rank`: per node of the profile, an order of siblings that does not follow their widths; for a tree
// that is made again and again.
export function make_tree(profile, sums, inverted, rank = null) {
  return inverted ? bottom_up(profile, sums) : top_down(profile, sums, rank);
}

// Self and total per function; a function that calls itself counts once per stack.
export function sum_functions(profile, sums) {
  const count = profile.functions.name.length;
  const result = { self: new Float64Array(count), total: new Float64Array(count),
                   base_self: new Float64Array(count), base_total: new Float64Array(count) };
  const last_seen = new Int32Array(count).fill(-1);
  for (let source = 0; source < profile.node_parent.length; ++source) {
    if (is_empty(sums, source)) continue;
    const own = sums.self[source];
    const base = sums.base?.[source] ?? 0;
    result.self[profile.node_function[source]] += own;
    result.base_self[profile.node_function[source]] += base;
    for (let at = source; at >= 0; at = profile.node_parent[at]) {
      const func = profile.node_function[at];
      if (last_seen[func] === source) continue;
      last_seen[func] = source;
      result.total[func] += own;
      result.base_total[func] += base;
    }
  }
  return result;
}
