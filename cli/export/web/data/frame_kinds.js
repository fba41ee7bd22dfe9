// Views of the profile that have only some kinds of frames: those of languages (native frames are
// hidden in stacks that have any), or native ones.

export class NodeMaker {
  constructor(functions) {
    this.functions = functions;
    this.index = new Map();
    this.parent = [];
    this.function = [];
  }

  child(parent, func) {
    const key = (parent + 1) * this.functions + func;
    let node = this.index.get(key);
    if (node === undefined) {
      node = this.parent.length;
      this.index.set(key, node);
      this.parent.push(parent);
      this.function.push(func);
    }
    return node;
  }
}

// Pseudo functions, such as the call in which a thread waits, are kept.
function map_nodes(profile, kinds, maker) {
  const { language, code } = profile.functions;
  const count = profile.node_parent.length;
  const mapped = new Int32Array(count);
  const has_language = new Uint8Array(count);
  for (let node = 0; node < count; ++node) {
    const parent = profile.node_parent[node];
    const func = profile.node_function[node];
    const is_language = language[func] !== '';
    const below = parent >= 0 && has_language[parent] === 1;
    has_language[node] = below || is_language ? 1 : 0;
    let caller = parent < 0 ? -1 : mapped[parent];
    if (kinds === 'native') {
      mapped[node] = is_language && caller >= 0 ? caller : maker.child(caller, func);
      continue;
    }
    if (is_language && !below) caller = -1;  // its native callers are hidden
    const hidden = below && !is_language && code[func] === 1;
    mapped[node] = hidden ? caller : maker.child(caller, func);
  }
  return mapped;
}

export function has_languages(profile) {
  return profile.functions.language.some((language) => language !== '');
}

// `kinds`: mixed, language or native.
export function with_frames(profile, kinds) {
  if (kinds === 'mixed') return profile;
  const maker = new NodeMaker(profile.functions.name.length);
  const mapped = map_nodes(profile, kinds, maker);
  return {
    ...profile,
    node_parent: Int32Array.from(maker.parent),
    node_function: Int32Array.from(maker.function),
    rows: { ...profile.rows, node: profile.rows.node.map((node) => mapped[node]) },
  };
}
