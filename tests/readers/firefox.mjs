// Opens the golden recording in the Firefox Profiler's own code (profiler-cli) and compares what it shows.
// usage: firefox.mjs FOLDER       (with the files of write_golden)
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { FirefoxProfiler } from './firefox_reader.mjs';

const folder = path.resolve(process.argv[2] ?? assert.fail('usage: firefox.mjs FOLDER'));
const file = path.join(folder, 'golden.firefox.json.gz');

// Every column of a table is as long as it says, and every index leads into its table.
function check_tables({ libs, threads, shared, meta }) {
  const columns = (table) => Object.entries(table).filter(([, column]) => Array.isArray(column));
  const inside = (column, length) => assert.ok(column.every((index) => index === null || index === -1 ||
    (Number.isInteger(index) && index >= 0 && index < length)), String(column));
  for (const table of [shared.stackTable, shared.frameTable, shared.funcTable, shared.resourceTable,
                       shared.sources, ...threads.map((thread) => thread.samples)]) {
    for (const [name, column] of columns(table)) assert.equal(column.length, table.length, name);
  }
  inside(shared.stackTable.frame, shared.frameTable.length);
  assert.ok(shared.stackTable.prefix.every((prefix, index) => prefix === null || prefix < index));
  inside(shared.frameTable.func, shared.funcTable.length);
  inside(shared.frameTable.category, meta.categories.length);
  inside(shared.funcTable.name, shared.stringArray.length);
  inside(shared.funcTable.resource, shared.resourceTable.length);
  inside(shared.funcTable.source, shared.sources.length);
  inside(shared.resourceTable.lib, libs.length);
  inside(shared.resourceTable.name, shared.stringArray.length);
  inside(shared.sources.filename, shared.stringArray.length);
  for (const { samples } of threads) {
    inside(samples.stack, shared.stackTable.length);
    assert.deepEqual(samples.time, samples.time.toSorted?.((a, b) => a - b) ?? [...samples.time].sort((a, b) => a - b));
  }
}

check_tables(JSON.parse(zlib.gunzipSync(fs.readFileSync(file))));
const profiler = new FirefoxProfiler(file);
try {
  const { threads } = profiler.ask('thread', 'list');
  assert.deepEqual(threads.map(({ name, tid }) => [name, tid]),
                   [['golden', 100], ['pool 3/4 #1', 101], ['thread 102', 102]]);
  assert.deepEqual(threads.map(({ cpuMs }) => cpuMs), [20, 2.5, 0]);
  const { functions } = profiler.ask('thread', 'functions', '--include-idle');
  const totals = Object.fromEntries(functions.map((entry) => [entry.nameWithLibrary, [entry.selfSamples, entry.totalSamples]]));
  assert.deepEqual(totals['[poll]'], [45, 45]);
  assert.deepEqual(totals['golden!mix(unsigned int)'], [2, 3]);
  assert.deepEqual(totals['golden!main'], [0, 48]);
  assert.deepEqual(totals['[runnable]'], [1, 1]);
  console.log('profiler-cli: threads, CPU times and totals are right');
} finally {
  profiler.close();
}
