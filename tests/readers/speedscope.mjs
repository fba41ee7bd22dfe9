// Opens the golden recording's files in speedscope, in headless chromium, and compares what its table of
// functions shows. A screenshot of each is left in the folder.
// usage: speedscope.mjs FOLDER       (with the files of write_golden)
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createRequire } from 'node:module';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const DEADLINE_MS = 60_000;

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

function fail(message) {
  console.error(`speedscope: ${message}`);
  process.exit(1);
}

function load_readers() {
  const require = createRequire(import.meta.url);
  try {
    const { chromium } = require('playwright-core');
    const pages = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist/release');
    return { chromium, pages };
  } catch (error) {
    return fail(`readers are missing (${error.code}): run scripts/test, or npm ci --prefix tests/readers`);
  }
}

// Against the schema that speedscope publishes.
function has_valid_schema(file) {
  const Ajv = createRequire(import.meta.url)('ajv');
  const schema = JSON.parse(fs.readFileSync(path.join(pages, 'file-format-schema.json')));
  const check = new Ajv({ strict: false }).compile(schema);
  const valid = check(JSON.parse(fs.readFileSync(file)));
  if (!valid) console.error(`${file}: ${JSON.stringify(check.errors, null, 1)}`);
  return valid;
}

// Serves speedscope and the files under one origin, on loopback.
function serve(folders) {
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
                  '.wasm': 'application/wasm' };
  const server = http.createServer((request, response) => {
    const name = path.basename(new URL(request.url, 'http://localhost').pathname) || 'index.html';
    const file = folders.map((folder) => path.join(folder, name)).find((place) => fs.existsSync(place));
    if (!file) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': types[path.extname(file)] ?? 'application/octet-stream' });
    fs.createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

// The rows of speedscope's table: function → total.
async function read_table(page) {
  await page.waitForFunction(() => document.querySelectorAll('td[title], td + td + td').length > 1,
                             undefined, { timeout: DEADLINE_MS });
  const rows = await page.$$eval('tr', (all) => all.map((row) =>
    [...row.querySelectorAll('td')].map((cell) => cell.innerText.trim())));
  return Object.fromEntries(rows.filter((cells) => cells.length === 3)
    .map(([total, , name]) => [name, total]));
}

async function check(browser, origin, name, expected, folder) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const messages = [];
  page.on('console', (message) => messages.push(message.text()));
  page.on('pageerror', (error) => messages.push(String(error)));
  await page.goto(`${origin}/#profileURL=${encodeURIComponent(`${origin}/${name}`)}&view=sandwich`);
  let table;
  try {
    table = await read_table(page);
  } catch (error) {
    fail(`${name} was not imported: ${error.message}\n${messages.join('\n')}`);
  }
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
  await page.close();
  const wrong = Object.entries(expected).filter(([key, total]) => table[key] !== total);
  for (const [key, total] of wrong) {
    console.error(`${name}: '${key}' has '${table[key]}', expected '${total}'`);
  }
  if (wrong.length > 0) console.error(`${name}: ${JSON.stringify(table, null, 1)}`);
  else console.log(`${name}: ${Object.keys(expected).length} totals right; ${messages[0] ?? ''}`);
  return wrong.length === 0;
}

const folder = process.argv[2] ?? fail('usage: speedscope.mjs FOLDER');
const { chromium, pages } = load_readers();
if (!fs.existsSync(CHROMIUM)) fail(`no ${CHROMIUM}: run scripts/install_dependencies test`);
const server = await serve([pages, folder]);
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--no-first-run'],
});
let right = has_valid_schema(path.join(folder, 'golden.speedscope.json'));
for (const [name, expected] of Object.entries(EXPECTED)) {
  const origin = `http://127.0.0.1:${server.address().port}`;
  right = (await check(browser, origin, name, expected, folder)) && right;
}
await browser.close();
server.close();
process.exit(right ? 0 : 1);
