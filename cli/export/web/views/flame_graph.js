// The flame graph on a canvas that is as large as what can be seen of it, so that neither depth nor
// number of frames makes it slow.

import { brief_name } from '../data/text.js';

const ROW = 20;
const MIN_WIDTH = 0.6;  // pixels; what is narrower is not drawn
const FONT = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const PADDING = 4;

export class FlameGraph {
  // `events`: selected(node), zoomed(node), pointed(node or -1, x, y), menu(node, x, y); name_of(node) is
  // its text.
  constructor(stage, canvas, spacer, colours, events, name_of) {
    Object.assign(this, { stage, canvas, spacer, colours, events, name_of });
    this.context = canvas.getContext('2d');
    this.tree = null;
    this.matched = null;  // per function; null: no search
    this.colouring = 'module';
    this.text_widths = new Map();
    this.rows = [];  // what was drawn: per row of the screen [{ node, x, width }] from left to right
    this.listen();
  }

  show(tree) {
    this.tree = tree;
    this.zoom = 0;
    this.selected = 0;
    this.stage.scrollTop = 0;
    this.layout();
  }

  // The same tree with other weights: zoom, selection and place stay.
  refresh(tree) {
    this.tree = tree;
    const { scrollTop } = this.stage;
    this.layout();
    this.stage.scrollTop = scrollTop;
    this.draw();
  }

  layout() {
    this.path = [];
    for (let node = this.zoom; node >= 0; node = this.tree.parent[node]) this.path.unshift(node);
    this.row_count = this.path.length + this.depth_below(this.zoom);
    this.spacer.style.height = '0';
    this.resize();
  }

  // Rows below `top` that hold anything wide enough to be seen.
  depth_below(top) {
    const { tree } = this;
    const least = tree.width[top] * MIN_WIDTH / Math.max(1, this.stage.clientWidth);
    let deepest = tree.depth[top];
    const stack = [top];
    while (stack.length > 0) {
      const node = stack.pop();
      deepest = Math.max(deepest, tree.depth[node]);
      for (let at = tree.first_child[node]; at < tree.first_child[node + 1]; ++at) {
        if (tree.width[tree.children[at]] >= least) stack.push(tree.children[at]);
      }
    }
    return deepest - tree.depth[top];
  }

  resize() {
    if (!this.tree) return;
    const height = this.row_count * ROW;
    const seen = this.stage.clientHeight;
    this.spacer.style.height = `${Math.max(0, height - seen)}px`;
    const width = this.stage.clientWidth;
    const scale = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(seen * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${seen}px`;
    this.draw();
  }

  draw() {
    if (!this.tree || this.canvas.width === 0) return;
    const { context, tree } = this;
    const scale = devicePixelRatio || 1;
    const width = this.stage.clientWidth;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, this.stage.clientHeight);
    context.font = FONT;
    context.textBaseline = 'middle';
    this.first_row = Math.floor(this.stage.scrollTop / ROW);
    this.last_row = Math.ceil((this.stage.scrollTop + this.stage.clientHeight) / ROW);
    this.rows = [];
    if (tree.width[this.zoom] <= 0) return this.draw_nothing(width);
    for (const node of this.path.slice(0, -1)) this.draw_frame(node, 0, width, true);
    this.draw_below(this.zoom, width);
  }

  draw_nothing(width) {
    this.context.fillStyle = this.colours.text;
    this.context.fillText('The selection is empty.', PADDING, ROW, width);
  }

  draw_below(top, width) {
    const { tree } = this;
    const per_weight = width / tree.width[top];
    const stack = [[top, 0]];
    while (stack.length > 0) {
      const [node, x] = stack.pop();
      if (tree.depth[node] > this.last_row) continue;
      this.draw_frame(node, x, tree.width[node] * per_weight, false);
      let left = x;
      for (let at = tree.first_child[node]; at < tree.first_child[node + 1]; ++at) {
        const child = tree.children[at];
        const child_width = tree.width[child] * per_weight;
        if (child_width >= MIN_WIDTH) stack.push([child, left]);
        left += child_width;
      }
    }
  }

  draw_frame(node, x, width, is_above) {
    const { context, tree } = this;
    const row = tree.depth[node];
    if (row < this.first_row || row > this.last_row) return;
    (this.rows[row] ??= []).push({ node, x, width });
    const y = row * ROW - this.stage.scrollTop;
    const [ground, text] = this.colours.of_node(tree, node, this.colouring);
    const is_match = this.matched !== null && node !== 0 && this.matched[tree.func[node]] === 1;
    const is_faint = (this.matched !== null && !is_match) || is_above;
    const gap = width > 3 ? 1 : 0;
    context.globalAlpha = is_faint ? 0.45 : 1;
    context.fillStyle = ground;
    context.fillRect(x, y, width - gap, ROW - 1);
    context.globalAlpha = is_faint ? 0.75 : 1;
    if (is_match) {
      context.fillStyle = this.colours.mark;
      context.fillRect(x, y + ROW - 4, width - gap, 3);
    }
    if (width > 22) {
      context.fillStyle = is_faint && this.colouring === 'state' ? this.colours.text : text;
      this.draw_text(this.name_of(node), x + PADDING, y + (ROW - 1) / 2, width - 2 * PADDING);
    }
    context.globalAlpha = 1;
    if (node === this.selected && node !== 0) {
      context.strokeStyle = this.colours.text;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(1, width - gap - 2), ROW - 3);
    }
  }

  width_of(text) {
    if (!this.text_widths.has(text)) this.text_widths.set(text, this.context.measureText(text).width);
    return this.text_widths.get(text);
  }

  draw_text(name, x, y, room) {
    const text = this.width_of(name) <= room ? name : brief_name(name);
    const full = this.width_of(text);
    if (full <= room) return this.context.fillText(text, x, y);
    // Letters differ in width: the share of the letters is only where to begin.
    let kept = Math.floor(text.length * room / full);
    while (kept > 1 && this.context.measureText(`${text.slice(0, kept)}…`).width > room) --kept;
    if (kept > 1) this.context.fillText(`${text.slice(0, kept)}…`, x, y);
  }

  node_at(x, y) {
    const row = Math.floor((y + this.stage.scrollTop) / ROW);
    const frame = this.rows[row]?.find((drawn) => x >= drawn.x && x < drawn.x + drawn.width);
    return frame ? frame.node : -1;
  }

  zoom_to(node) {
    this.zoom = node;
    this.layout();
    this.select(node);
    this.events.zoomed(node);
  }

  // Selects, and scrolls there if need be. What the zoom hides is zoomed out for.
  select(node) {
    if (!this.is_shown(node)) {
      this.zoom = this.tree.parent[node] > 0 ? this.tree.parent[node] : 0;
      this.layout();
      this.events.zoomed(this.zoom);
    }
    this.selected = node;
    const top = this.tree.depth[node] * ROW;
    if (top < this.stage.scrollTop) this.stage.scrollTop = top;
    const bottom = top + ROW - this.stage.clientHeight;
    if (bottom > this.stage.scrollTop) this.stage.scrollTop = bottom;
    this.draw();
    this.events.selected(node);
  }

  // Where a node is on the screen, [x, y].
  place_of(node) {
    const area = this.canvas.getBoundingClientRect();
    const row = this.tree.depth[node];
    const drawn = this.rows[row]?.find((frame) => frame.node === node);
    return [area.left + (drawn ? drawn.x : 0) + 20, area.top + (row + 1) * ROW - this.stage.scrollTop];
  }

  is_shown(node) {
    if (this.path.includes(node)) return true;
    let at = node;
    while (at > this.zoom) at = this.tree.parent[at];
    return at === this.zoom &&
           this.tree.width[node] * this.stage.clientWidth >= MIN_WIDTH * this.tree.width[this.zoom];
  }

  neighbour(node, step) {
    const { first_child, children, parent } = this.tree;
    if (node === 0) return node;
    const siblings = children.subarray(first_child[parent[node]], first_child[parent[node] + 1]);
    return siblings[siblings.indexOf(node) + step] ?? node;
  }

  callee(node) {
    const first = this.tree.first_child[node];
    return first < this.tree.first_child[node + 1] ? this.tree.children[first] : node;
  }

  on_key(event) {
    const { selected, tree } = this;
    const moves = {
      ArrowUp: () => this.select(Math.max(0, tree.parent[selected])),
      ArrowDown: () => this.select(this.callee(selected)),
      ArrowLeft: () => this.select(this.neighbour(selected, -1)),
      ArrowRight: () => this.select(this.neighbour(selected, +1)),
      Home: () => this.select(0),
      Enter: () => this.zoom_to(selected),
      ' ': () => this.zoom_to(selected),
      Backspace: () => this.zoom_to(Math.max(0, tree.parent[this.zoom])),
    };
    const move = moves[event.key];
    if (!move || !this.tree || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    move();
  }

  listen() {
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return this.node_at(event.clientX - box.left, event.clientY - box.top);
    };
    this.canvas.addEventListener('mousemove', (event) =>
      this.events.pointed(place(event), event.clientX, event.clientY));
    this.canvas.addEventListener('mouseleave', () => this.events.pointed(-1, 0, 0));
    this.canvas.addEventListener('click', (event) => {
      const node = place(event);
      if (node >= 0) this.zoom_to(node);
    });
    this.canvas.addEventListener('contextmenu', (event) => {
      const node = place(event);
      if (node < 0) return;
      event.preventDefault();
      this.select(node);
      this.events.menu(node, event.clientX, event.clientY);
    });
    this.stage.addEventListener('scroll', () => this.draw(), { passive: true });
    this.stage.addEventListener('keydown', (event) => this.on_key(event));
    new ResizeObserver(() => this.tree && this.layout()).observe(this.stage);
  }
}
