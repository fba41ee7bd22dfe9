// Values as text. Times are nanoseconds.

const TIME_UNITS = [[60e9, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

export function format_time(nanoseconds) {
  if (nanoseconds === 0) return '0';
  const [size, unit] = TIME_UNITS.find(([units]) => Math.abs(nanoseconds) >= units) ?? TIME_UNITS.at(-1);
  const value = nanoseconds / size;
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

// Marks of a time axis: 0 and at most `most` more, at round times (1, 2 or 5 times a power of ten), all in one unit.
export function axis_times(duration_ns, most) {
  if (duration_ns <= 0) return [];
  const [size, unit] = TIME_UNITS.find(([units]) => duration_ns >= 2 * units) ?? TIME_UNITS.at(-1);
  const whole = duration_ns / size;
  const power = 10 ** Math.floor(Math.log10(whole / most));
  const count = (factor) => Math.floor(whole / (factor * power) + 1e-9);
  const factor = [1, 2, 5, 10].find((candidate) => count(candidate) <= most);
  const digits = Math.max(0, -Math.floor(Math.log10(factor * power) + 1e-9));
  return Array.from({ length: count(factor) + 1 }, (_, mark) => {
    const time = mark * factor * power;
    return { time_ns: time * size, text: mark === 0 ? '0' : `${time.toFixed(digits)} ${unit}` };
  });
}

export function format_count(count) {
  return Math.round(count).toLocaleString('en');
}

export function format_weight(value, weight) {
  return weight === 'samples' ? `${format_count(value)} ${Math.round(value) === 1 ? 'sample' : 'samples'}`
                              : format_time(value);
}

export function format_percent(part, whole) {
  if (!whole || part === 0) return '0 %';
  const percent = 100 * part / whole;
  return `${percent.toFixed(Math.abs(percent) >= 99.95 ? 0 : Math.abs(percent) >= 0.095 ? 1 : 2)} %`;
}

// A part that may have become smaller or larger.
export function format_signed(value, weight) {
  return sign_of(value) + format_weight(Math.abs(value), weight);
}

// The same for narrow columns: samples are only counted.
export function format_change(value, weight) {
  const size = Math.abs(value);
  return sign_of(value) + (weight === 'samples' ? format_count(size) : format_time(size));
}

function sign_of(value) {
  return value > 0 ? '+' : value < 0 ? '−' : '±';
}

// The file's name without its folders.
export function base_name(path) {
  return path.replace(/ \(deleted\)$/, '').split('/').at(-1);
}

// Without what is in angle brackets; null if they are no pairs.
function without_brackets(name) {
  let depth = 0;
  let kept = '';
  for (const letter of name) {
    if (letter === '<') ++depth;
    if (depth === 0) kept += letter;
    if (letter === '>' && --depth < 0) return null;
  }
  return depth === 0 ? kept : null;
}

// A function's name for a frame that is too narrow for all of it: "std::sort" of "void std::sort<int*>(int*, int*)",
// "run" of "run (app.py)". Names that are not understood stay.
export function brief_name(name) {
  const plain = name.replaceAll('(anonymous namespace)::', '').replace(/ \([^()]*\.\w+\)$/, '');
  if (/operator\b|->|^\[|^<|\.<|\.\(/.test(plain)) return plain;
  const kept = without_brackets(plain)?.replace(/\(.*$/s, '').trim() ?? '';
  const last = kept.split(' ').at(-1);
  return last === '' || last.startsWith('::') || /[{}]/.test(kept) ? plain : last;
}

// An element with text and attributes; the only way by which names get into the page.
export function element(tag, text = '', attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
