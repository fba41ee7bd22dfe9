// Functions whose names can be checked: each one called rNUMBER and letters is called by the one with a letter less.
// usage: stress.js ordinary|hostile. Ends with its input; with code 0 if all calls returned what they should.
const { Worker, isMainThread, workerData, threadId } = require('worker_threads');

const RESULT = 3000;
let ended = false;
let number = 0;
const next = () => Math.floor(Math.random() * 3);
// How a function calls the next one, which is the only one that it calls.
const WAYS = [
  (f) => f(),
  (f) => [1].map(() => f())[0],
  (f) => { let found; [3, 1].sort(() => { if (!found) found = f(); return 0; }); return found; },
  (f) => { for (const x of (function* () { yield f(); })()) return x; },
  (f) => { try { throw { found: f() }; } catch (e) { return e.found; } },
  (f) => { let found; 'ab'.replace(/a/, () => { found = f(); return 'c'; }); return found; },
  (f) => { let found; (async () => { found = f(); })(); return found; },
  (f) => { let found; new Promise((resolve) => { found = f(); resolve(1); }); return found; },
  (f) => ({ get found() { return f(); } }).found,
  (f) => new Proxy({}, { get: () => f() }).found,
  (f) => Reflect.apply(f, null, []),
  (f) => ({ valueOf: () => f() }) * 1,
];

// V8 compiles the sum for integers, and again after it has met something else.
function leaf(one) {
  let sum = 0;
  for (let i = 0; i < 3000; i++) sum += one;
  return typeof one === 'string' ? sum.length - 1 : Math.round(sum);
}

function make(name, depth) {
  const children = depth === 0 ? [] : ['a', 'b', 'c'].map((letter) => make(name + letter, depth - 1));
  const way = WAYS[next() + 3 * Math.floor(Math.random() * 4)];
  const body = depth === 0 ? 'return leaf(1);' : 'return way(children[next()]);';
  return new Function('leaf', 'way', 'children', 'next', `return function ${name}() { ${body} }`)(leaf, way, children, next);
}

// A new family of functions: its first one.
function made(depth) {
  return make(`r${threadId % 1000}00${number++ % 100000}`, depth);
}

function check(result) {
  if (result === RESULT) return;
  console.error('wrong result', result);
  process.exit(3);
}

function deep(depth) {
  return depth === 0 ? 0 : 1 + deep(depth - 1);
}

function* counted(count) {
  for (let i = 0; i < count; i++) yield deep(i % 20);
}

async function awaited(depth) {
  await null;
  return depth === 0 ? made(1)() : awaited(depth - 1);
}

function storm() {
  const first = made(2);
  const calls = Math.random() * 200;
  for (let i = 0; i < calls; i++) check(first());
  for (const one of ['1', 1.0000001, 1]) leaf(one);
  deep(Math.floor(Math.random() * 1000));
  try {
    if (Math.random() < 0.02) deep(1e6);
    null.found;
  } catch (e) {
    e.stack;
  }
  for (const x of counted(50)) x;
  const garbage = [];
  for (let i = 0; i < 3000; i++) garbage.push({ i, text: 'k' + i, list: [i] });
  return garbage;
}

function runAndRepeat(turn) {
  turn();
  if (ended) console.log('whole');
  else setImmediate(runAndRepeat, turn);
}

function startWorkers() {
  if (!ended) new Worker(__filename, { workerData: 'hostile' }).once('exit', startWorkers).once('error', (e) => { throw e; });
}

if (!isMainThread) {
  for (let i = 0; i < 50; i++) storm();
  awaited(20).then(check);
} else {
  process.stdin.on('end', () => { ended = true; }).resume();
  console.log('ready');
  if (process.argv[2] === 'hostile') {
    startWorkers();
    runAndRepeat(() => { for (let i = 0; i < 5; i++) storm(); awaited(20).then(check); });
  } else {
    const first = made(4);
    runAndRepeat(() => { for (let i = 0; i < 50; i++) check(first()); });
  }
}
