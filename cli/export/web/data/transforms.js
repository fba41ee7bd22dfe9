// Views of the profile in which functions are hidden, or in which stacks begin with one.

import { NodeMaker } from './frame_kinds.js';

export const DROPPED = -1;  // node of a row that is not in the view

// `focus`: a function with which stacks begin, or null; `hidden`: functions whose frames are left out.
// Stacks without a frame that is left keep their outermost one.
export function with_transforms(profile, { focus, hidden }) {
  if (focus === null && hidden.size === 0) return profile;
  const maker = new NodeMaker(profile.functions.name.length);
  const count = profile.node_parent.length;
  const mapped = new Int32Array(count);
  for (let node = 0; node < count; ++node) {
    const parent = profile.node_parent[node];
    const func = profile.node_function[node];
    const caller = parent < 0 ? DROPPED : mapped[parent];
    const is_outside = focus !== null && caller === DROPPED && func !== focus;
    if (is_outside) mapped[node] = DROPPED;
    else mapped[node] = hidden.has(func) && caller !== DROPPED ? caller : maker.child(caller, func);
  }
  return {
    ...profile,
    node_parent: Int32Array.from(maker.parent),
    node_function: Int32Array.from(maker.function),
    rows: { ...profile.rows, node: profile.rows.node.map((node) => node < 0 ? node : mapped[node]) },
  };
}
