// What `swipr convert` selects of a recording opens in the real readers, with the function that is hot there and with
// nothing of other threads.
// usage: selections.mjs FOLDER SWIPR PROGRAM       (PROGRAM: tests/targets/times/three_states.cc)
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { FirefoxProfiler } from './firefox_reader.mjs';
import { Speedscope, schema_errors } from './speedscope_reader.mjs';

const [folder, swipr, program] = process.argv.slice(2).map((argument) => path.resolve(argument));
if (!program) assert.fail('usage: selections.mjs FOLDER SWIPR PROGRAM');

const FORMATS = { pprof: 'pb.gz', speedscope: 'speedscope.json', firefox: 'firefox.json.gz', collapsed: 'collapsed',
                  perf: 'perf' };
const SELECTIONS = [
  { name: 'running', thread: 'sleeper', hot: 'state_running', weight: 'cpu', state: 'running',
    options: ['--from', '100ms', '--to', '400ms', '--focus', 'state_running'] },
  { name: 'blocked', thread: 'waiter', hot: 'wait_for_the_end', weight: 'blocked', state: 'blocked',
    options: ['--from', '100ms', '--to', '400ms', '--focus', 'wait_for'] },
];
const MOST_MS = 300;

function convert(recording, { name, thread, state, options }, format) {
  const file = path.join(folder, `selection-${name}.${FORMATS[format]}`);
  execFileSync(swipr, ['convert', recording, '--format', format, '-o', file, '--thread', thread, '--state', state,
                       ...options], { stdio: ['ignore', 'inherit', 'pipe'] });
  return file;
}

function pprof(file, ...options) {
  return execFileSync('go', ['tool', 'pprof', ...options, file],
                      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'],
                        env: { ...process.env, GOTOOLCHAIN: 'local', PPROF_TMPDIR: folder } });
}

// "  70ms 100% 100%  70ms 100%  name": the fourth and fifth columns are the function's and what it called.
function check_pprof(file, { hot, thread, weight }) {
  const top = pprof(file, '-top', '-cum', `-sample_index=${weight}`);
  const row = top.split('\n').find((line) => line.includes(hot)) ?? assert.fail(`no ${hot} in\n${top}`);
  const [, , , total, share] = row.trim().split(/\s+/);
  assert.equal(share, '100%', top);
  assert.ok(parseFloat(total) > 0 && parseFloat(total) <= MOST_MS && total.endsWith('ms'), top);
  const threads = [...pprof(file, '-raw').matchAll(/thread:\[([^\]]*)\]/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(threads)], [thread]);
}

function total_of(table, hot) {
  const name = Object.keys(table).find((key) => key.includes(hot));
  return table[name] ?? assert.fail(`no ${hot} in ${JSON.stringify(table, null, 1)}`);
}

async function check_speedscope(speedscope, file, { hot }) {
  const { totals } = await speedscope.open(path.basename(file));
  assert.match(total_of(totals, hot), /\(100%\)$/, file);
}

function check_firefox(file, { hot, thread }) {
  const profiler = new FirefoxProfiler(file);
  try {
    assert.deepEqual(profiler.ask('thread', 'list').threads.map(({ name }) => name), [thread]);
    const { functions } = profiler.ask('thread', 'functions', '--include-idle');
    const found = functions.find(({ nameWithLibrary }) => nameWithLibrary.includes(hot));
    assert.equal(found?.totalPercentage, 100, JSON.stringify(functions));
  } finally {
    profiler.close();
  }
}

const recording = path.join(folder, 'selections.swipr');
execFileSync(swipr, ['record', '--interval', '2ms', '-o', recording, '--', program, '500'], { stdio: 'ignore' });
const speedscope = await Speedscope.start(folder);
try {
  for (const selection of SELECTIONS) {
    check_pprof(convert(recording, selection, 'pprof'), selection);
    check_firefox(convert(recording, selection, 'firefox'), selection);
    assert.equal(schema_errors(convert(recording, selection, 'speedscope')), null);
    for (const format of ['speedscope', 'pprof', 'collapsed', 'perf']) {
      await check_speedscope(speedscope, convert(recording, selection, format), selection);
    }
    console.log(`${selection.name}: ${selection.hot} is all there is, in all readers`);
  }
} finally {
  await speedscope.close();
}
