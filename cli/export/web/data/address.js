// What the page shows, in its address: "#weight=wall&function=main", so that a link leads back to it.

// { name: text } of the address.
export function read_address() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// Empty texts are left out. `is_step(name)`: a change of this leaves a step to go back to in the browser's history.
export function write_address(state, is_step = () => false) {
  const set = Object.entries(state).filter(([, text]) => text !== '');
  const text = new URLSearchParams(set).toString();
  const before = read_address();
  const step = Object.keys({ ...before, ...state }).some((name) => is_step(name) && (before[name] ?? '') !== (state[name] ?? ''));
  const address = text === '' ? location.pathname + location.search : `#${text}`;
  if (step) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}

// A node of a tree as the functions on the way to it, and back; null: there is none.
export function path_of(tree, node) {
  const path = [];
  for (let at = node; at > 0; at = tree.parent[at]) path.unshift(tree.func[at].toString(36));
  return path.join('.');
}

export function node_at_path(tree, path) {
  let node = 0;
  for (const step of path === '' ? [] : path.split('.')) {
    const func = parseInt(step, 36);
    const children = tree.children.subarray(tree.first_child[node], tree.first_child[node + 1]);
    const found = children.find((child) => tree.func[child] === func);
    if (found === undefined) return null;
    node = found;
  }
  return node;
}
