// Opens the golden recording's files in speedscope and compares what its table of functions shows. A screenshot of
// each is left in the folder.
// usage: speedscope.mjs FOLDER       (with the files of write_golden)
import assert from 'node:assert/strict';
import path from 'node:path';
import { Speedscope, schema_errors } from './speedscope_reader.mjs';

// Totals as speedscope formats them. It shows the first thread of a perf file and weighs it by time
// stamps: __poll from halfway between 30 and 40 ms to 480 ms. Of a pprof location it shows the function that
// the others were inlined into, and of its sample types the last one.
const EXPECTED = {
  'golden.perf': { __poll: '445.00ms (95%)', 'Handle<Job>::operator- >() const': '445.00ms (95%)',
                   'mix(unsigned int) [inlined]': '25.00ms (5.3%)', '[runnable]': '10.00ms (2.1%)' },
  'golden.pb.gz': { __poll: '55 (90%)', main: '58 (95%)', '[p.so+0x2776]': '2 (3.3%)',
                    '(anonymous namespace)::burn(std::vector<int> const&)': '3 (4.9%)' },
  'golden.collapsed': { __poll: '55 (90%)', 'pool 3/4 #1': '11 (18%)', '[no stack]': '1 (1.6%)',
                        'mix(unsigned int)': '3 (4.9%)' },
  // Of the busiest thread, 480 ms of wall time; the file opens at the functions' totals.
  'golden.speedscope.json': { main: '480.00ms (100%)', '[poll]': '450.00ms (94%)', '[runnable]': '10.00ms (2.1%)',
                              'mix(unsigned int)': '30.00ms (6.3%)' },
};

const folder = process.argv[2] ?? assert.fail('usage: speedscope.mjs FOLDER');
assert.equal(schema_errors(path.join(folder, 'golden.speedscope.json')), null);
const speedscope = await Speedscope.start(folder);
try {
  for (const [name, expected] of Object.entries(EXPECTED)) {
    const { totals, said } = await speedscope.open(name);
    const shown = Object.fromEntries(Object.keys(expected).map((key) => [key, totals[key]]));
    assert.deepEqual(shown, expected, `${name}: ${JSON.stringify(totals, null, 1)}`);
    console.log(`${name}: ${Object.keys(expected).length} totals right; ${said[0] ?? ''}`);
  }
} finally {
  await speedscope.close();
}
