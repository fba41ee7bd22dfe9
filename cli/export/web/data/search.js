// What a person types into the search field, and what it finds.

// Tells whether a name matches: part of it in any case, or /a regular expression/. Null: nothing to
// search for. Throws what the regular expression's syntax error says.
export function compile_query(text) {
  const query = text.trim();
  if (query === '') return null;
  const regex = /^\/(.+)\/(i?)$/.exec(query);
  if (regex) {
    const pattern = new RegExp(regex[1], regex[2]);
    return (name) => pattern.test(name);
  }
  const wanted = query.toLowerCase();
  return (name) => name.toLowerCase().includes(wanted);
}

// 1 for each function whose name, module or file matches.
export function match_functions(profile, matches) {
  const { name, file, module } = profile.functions;
  return Uint8Array.from(name, (text, index) =>
    matches(text) || (file[index] !== '' && matches(file[index])) ||
    (module[index] !== null && matches(profile.module_names[module[index]])) ? 1 : 0);
}

// The outermost matching nodes, widest first, and the weight below them: nothing counts twice.
export function find_matches(tree, matched) {
  const nodes = [];
  let width = 0;
  const stack = [0];
  while (stack.length > 0) {
    const node = stack.pop();
    if (node !== 0 && matched[tree.func[node]]) {
      nodes.push(node);
      width += tree.width[node];
      continue;
    }
    for (let at = tree.first_child[node]; at < tree.first_child[node + 1]; ++at) stack.push(tree.children[at]);
  }
  nodes.sort((a, b) => tree.width[b] - tree.width[a] || a - b);
  return { nodes, width };
}
