// What blocked threads wait in, and which function of the program called it.

import { for_each_selected } from './selection.js';

// The nearest frame of the program itself or of a language, else the outermost one; '' if there is none.
export function caller_of(profile, node) {
  const { name, module, language, code } = profile.functions;
  let caller = '';
  for (let at = node; at >= 0; at = profile.node_parent[at]) {
    const func = profile.node_function[at];
    if (!code[func]) continue;
    if (language[func] !== '' || (module[func] !== null && profile.own[module[func]] === 1)) return name[func];
    if (caller === '') caller = name[func];
  }
  return caller;
}

// { whole, waits: [{ call, caller, weight }] }, longest first. Innermost pseudo frames are calls: "[poll]".
export function find_waits(profile, selection) {
  const by_node = new Map();
  for_each_selected(profile, selection, selection.weight, (row, weight) => {
    const node = profile.rows.node[row];
    by_node.set(node, (by_node.get(node) ?? 0) + weight);
  });
  return sum_waits(profile, by_node);
}

// The same of weights by node: [node, weight].
export function sum_waits(profile, by_node) {
  const waits = new Map();
  let whole = 0;
  for (const [node, weight] of by_node) {
    whole += weight;
    const func = profile.node_function[node];
    if (profile.functions.code[func]) continue;
    const call = profile.functions.name[func].replace(/^\[|\]$/g, '');
    const caller = caller_of(profile, profile.node_parent[node]);
    const key = `${call}\n${caller}`;
    const wait = waits.get(key) ?? { call, caller, weight: 0 };
    wait.weight += weight;
    waits.set(key, wait);
  }
  return { whole, waits: [...waits.values()].sort((a, b) => b.weight - a.weight) };
}
