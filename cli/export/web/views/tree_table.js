// The call tree as a table whose rows open.

import { element, format_change, format_percent } from '../data/text.js';

const MAX_CHILDREN = 60;
const MAX_ROWS_SHOWN = 2000;

export class TreeTable {
  // `events`: selected(node), menu(node, x, y); name_of(node) is its text.
  constructor(box, events, name_of) {
    Object.assign(this, { box, events, name_of });
    this.body = box.querySelector('tbody');
    this.body.addEventListener('keydown', (event) => this.on_key(event));
    this.selected = 0;
    this.matched = null;
  }

  // Opens the heaviest path. reveal() draws it.
  show(tree, weight) {
    Object.assign(this, { tree, weight, selected: 0, open: new Set([0]) });
    this.box.querySelectorAll('th')[1].textContent = tree.base ? 'Change' : 'Self';
    for (let node = 0; ;) {
      const first = tree.first_child[node];
      if (first === tree.first_child[node + 1]) break;
      node = tree.children[first];
      if (tree.width[node] < 0.2 * tree.width[0]) break;
      this.open.add(node);
    }
  }

  // `matched`: 1 per function that is looked for; null: no search.
  search(matched) {
    this.matched = matched;
    for (const row of this.body.rows) this.mark(row);
  }

  mark(row) {
    row.classList.toggle('match', this.matched !== null && this.matched[this.tree.func[row.dataset.node]] === 1);
  }

  children(node) {
    const { first_child, children } = this.tree;
    return children.subarray(first_child[node], Math.min(first_child[node + 1], first_child[node] + MAX_CHILDREN));
  }

  // Draws it, open from the root to a node that somebody looks for.
  reveal(node) {
    for (let at = this.tree.parent[node]; at >= 0; at = this.tree.parent[at]) this.open.add(at);
    this.selected = node;
    this.fill();
    this.row(node)?.scrollIntoView({ block: 'nearest' });
  }

  // Its keys work on the row that is selected, or on the first.
  focus() {
    (this.row(this.selected) ?? this.body.rows[0])?.focus();
  }

  row(node) {
    return this.body.querySelector(`tr[data-node="${node}"]`);
  }

  fill() {
    const rows = [];
    const visit = (node) => {
      if (rows.length >= MAX_ROWS_SHOWN) return;
      if (node !== 0) rows.push(this.make_row(node));
      if (this.open.has(node)) this.children(node).forEach(visit);
    };
    visit(0);
    if (this.selected === 0 && rows.length > 0) rows[0].tabIndex = 0;
    this.body.replaceChildren(...rows);
  }

  // Its own weight, or how much more than in the base it has.
  second(node) {
    const { tree } = this;
    if (tree.base) return format_change(tree.value[node] - tree.base[node], this.weight);
    return tree.self[node] > 0 ? format_percent(tree.self[node], tree.width[0]) : '';
  }

  make_row(node) {
    const { tree } = this;
    const leaf = tree.first_child[node] === tree.first_child[node + 1];
    const row = element('tr', '', { 'data-node': node, 'aria-level': tree.depth[node],
                                    tabindex: node === this.selected ? 0 : -1, 'aria-selected': String(node === this.selected) });
    if (!leaf) row.setAttribute('aria-expanded', String(this.open.has(node)));
    const total = element('td', format_percent(tree.value[node], tree.value[0]), { class: 'number' });
    total.style.setProperty('--share', `${100 * tree.value[node] / tree.value[0]}%`);
    const self = element('td', this.second(node), { class: 'number' });
    const name = element('td', '', { title: this.name_of(node) });
    name.style.setProperty('--depth', Math.min(tree.depth[node] - 1, 60));
    name.append(element('span', leaf ? ' ' : this.open.has(node) ? '▾ ' : '▸ ', { class: 'twist', 'aria-hidden': 'true' }),
                element('span', this.name_of(node)));
    row.append(total, self, name);
    this.mark(row);
    row.addEventListener('click', (event) => {
      this.select(node);
      if (event.target.closest('.twist') || event.detail === 2) this.toggle(node);
    });
    row.addEventListener('contextmenu', (event) => {
      event.preventDefault();
      this.select(node);
      this.events.menu(node, event.clientX, event.clientY);
    });
    return row;
  }

  select(node) {
    const old = this.row(this.selected) ?? this.body.querySelector('tr[tabindex="0"]');
    old?.setAttribute('aria-selected', 'false');
    if (old) old.tabIndex = -1;
    this.selected = node;
    const row = this.row(node);
    row?.setAttribute('aria-selected', 'true');
    if (row) row.tabIndex = 0;
    row?.focus();
    this.events.selected(node);
  }

  toggle(node) {
    if (!this.open.delete(node)) this.open.add(node);
    this.fill();
    this.row(node)?.focus();
  }

  on_key(event) {
    const row = event.target.closest('tr');
    if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
    const node = Number(row.dataset.node);
    const step = (other) => other && this.select(Number(other.dataset.node));
    const is_open = this.open.has(node);
    const moves = {
      ArrowDown: () => step(row.nextElementSibling),
      ArrowUp: () => step(row.previousElementSibling),
      ArrowRight: () => is_open ? step(row.nextElementSibling) : row.hasAttribute('aria-expanded') && this.toggle(node),
      ArrowLeft: () => is_open ? this.toggle(node) : step(this.row(this.tree.parent[node])),
      Enter: () => row.hasAttribute('aria-expanded') && this.toggle(node),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }
}
