// Colours of frames: quiet enough to read text on, apart enough to tell modules apart.

import { STATES } from '../data/profile.js';

export function is_dark() {
  return matchMedia('(prefers-color-scheme: dark)').matches;
}

export function css_colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function hash(text) {
  let value = 2166136261;  // FNV-1a
  for (let index = 0; index < text.length; ++index) value = Math.imul(value ^ text.charCodeAt(index), 16777619);
  return value >>> 0;
}

// A hue for each language; they stand out by their saturation.
const LANGUAGE_HUES = { python: 256, java: 350, javascript: 50, ruby: 330, php: 230, '.net': 285, erlang: 10, perl: 200, r: 210, lua: 240 };

function language_colour(language, name, dark) {
  const shade = hash(name) % 8;
  const hue = LANGUAGE_HUES[language] ?? 290;
  return dark ? `hsl(${hue} 50% ${36 + shade}%)` : `hsl(${hue} 70% ${76 + shade}%)`;
}

// Warm hues for the program itself, the rest of the circle for libraries.
function function_colour(profile, func, dark) {
  const { name, module, code, language } = profile.functions;
  if (!code[func]) return dark ? '#3b4149' : '#d8dce1';
  if (language[func]) return language_colour(language[func], name[func], dark);
  const own = module[func] !== null && profile.own[module[func]] === 1;
  const library = module[func] === null ? '' : profile.module_names[module[func]];
  const hue = own ? 22 + hash(name[func]) % 26 : 75 + hash(library) % 240;
  const shade = hash(name[func]) % 8;
  return dark ? `hsl(${hue} ${own ? 52 : 30}% ${26 + shade}%)` : `hsl(${hue} ${own ? 88 : 52}% ${72 + shade}%)`;
}

// Red where the profile weighs more than its base, blue where less; strong where all is new or gone.
function difference_colour(value, base, dark) {
  const change = value + base === 0 ? 0 : (value - base) / (value + base);
  const strength = Math.round(100 * Math.sqrt(Math.abs(change)));
  const hue = change > 0 ? 4 : 214;
  return dark ? `hsl(${hue} ${strength * 0.7}% ${24 + strength * 0.16}%)`
              : `hsl(${hue} ${strength * 0.9}% ${92 - strength * 0.24}%)`;
}

// Strong where time is spent in the function itself, pale where it only calls others.
function self_colour(self, most, dark) {
  const strength = most > 0 ? Math.sqrt(Math.max(0, self) / most) : 0;
  return dark ? `hsl(${40 - 28 * strength} ${10 + 62 * strength}% ${22 + 18 * strength}%)`
              : `hsl(${48 - 34 * strength} ${30 + 65 * strength}% ${94 - 26 * strength}%)`;
}

export class Colours {
  constructor(profile) {
    this.profile = profile;
    this.refresh();
  }

  // After the browser has changed between light and dark.
  refresh() {
    this.dark = is_dark();
    this.functions = [];
    this.states = STATES.map((state) => css_colour(state.key));
    this.text = this.dark ? '#f1f3f5' : '#15181c';
    this.state_text = this.dark ? ['#04140d', '#1c0e00', '#f1f3f5', '#f1f3f5'] : ['#ffffff', '#15181c', '#15181c', '#15181c'];
    this.root = this.dark ? '#2a2f35' : '#e9ecef';
    this.mark = css_colour('mark');
    this.ground = css_colour('ground');
  }

  of_function(func) {
    return this.functions[func] ??= function_colour(this.profile, func, this.dark);
  }

  // [ground, text] of a node.
  of_node(tree, node, colouring) {
    if (node === 0) return [this.root, this.text];
    if (tree.base) return [difference_colour(tree.value[node], tree.base[node], this.dark), this.text];
    if (colouring === 'self') return [self_colour(tree.self[node], tree.max_self, this.dark), this.text];
    if (colouring !== 'state') return [this.of_function(tree.func[node]), this.text];
    let main = 0;
    for (let state = 1; state < STATES.length; ++state) {
      if (tree.states[state][node] > tree.states[main][node]) main = state;
    }
    return [this.states[main], this.state_text[main]];
  }
}
