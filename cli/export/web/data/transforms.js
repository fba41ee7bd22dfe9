// Views of the profile in which functions are hidden, stacks are left out, or begin with a function.

import { NodeMaker } from './frame_kinds.js';

export const DROPPED = -1;  // node of a row that is not in the view

// `focus`: a function with which stacks begin, or null. Sets of functions: `hidden`, whose frames are left
// out; `dropped`, whose stacks are; `folded`, of whose frames a stack keeps the outermost one only, with all
// that is called below it.
export function make_transforms() {
  return { focus: null, hidden: new Set(), dropped: new Set(), folded: new Set() };
}

export function has_transforms({ focus, hidden, dropped, folded }) {
  return focus !== null || hidden.size + dropped.size + folded.size > 0;
}

export function clear_transforms(transforms) {
  Object.assign(transforms, make_transforms());
}

// The outermost frame of `func` on the way to a node of the view, or -1.
function outermost(maker, node, func) {
  let found = -1;
  for (let at = node; at >= 0; at = maker.parent[at]) if (maker.function[at] === func) found = at;
  return found;
}

// Stacks without a frame that is left keep their outermost one.
export function with_transforms(profile, transforms) {
  if (!has_transforms(transforms)) return profile;
  const { focus, hidden, dropped, folded } = transforms;
  const maker = new NodeMaker(profile.functions.name.length);
  const count = profile.node_parent.length;
  const mapped = new Int32Array(count);
  const is_dropped = new Uint8Array(count);
  for (let node = 0; node < count; ++node) {
    const parent = profile.node_parent[node];
    const func = profile.node_function[node];
    const caller = parent < 0 ? DROPPED : mapped[parent];
    is_dropped[node] = dropped.has(func) || (parent >= 0 && is_dropped[parent] === 1) ? 1 : 0;
    const is_outside = focus !== null && caller === DROPPED && func !== focus;
    const fold = folded.has(func) ? outermost(maker, caller, func) : -1;
    if (is_dropped[node] === 1 || is_outside) mapped[node] = DROPPED;
    else if (fold >= 0) mapped[node] = fold;
    else mapped[node] = hidden.has(func) && caller !== DROPPED ? caller : maker.child(caller, func);
  }
  return {
    ...profile,
    node_parent: Int32Array.from(maker.parent),
    node_function: Int32Array.from(maker.function),
    rows: { ...profile.rows, node: profile.rows.node.map((node) => node < 0 ? node : mapped[node]) },
  };
}
