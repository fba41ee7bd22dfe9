// speedscope in headless chromium, beside the files of one folder.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { launch_browser } from './browser.mjs';

const DEADLINE_MS = 60_000;

const require = createRequire(import.meta.url);
const pages = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist/release');

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
  await page.waitForFunction(() => [...document.querySelectorAll('td')].some((cell) => cell.innerText.endsWith('%)')),
                             undefined, { timeout: DEADLINE_MS });
  const rows = await page.$$eval('tr', (all) => all.map((row) =>
    [...row.querySelectorAll('td')].map((cell) => cell.innerText.trim())));
  return Object.fromEntries(rows.filter((cells) => cells.length === 3)
    .map(([total, , name]) => [name, total]));
}

export class Speedscope {
  static async start(folder) {
    const reader = new Speedscope();
    reader.folder = folder;
    reader.server = await serve([pages, folder]);
    reader.browser = await launch_browser();
    return reader;
  }

  // Totals by function, as speedscope formats them, and what it said. Leaves a screenshot. Throws with what the page
  // said if it does not import the file.
  async open(name) {
    const origin = `http://127.0.0.1:${this.server.address().port}`;
    const page = await this.browser.newPage({ viewport: { width: 1280, height: 800 } });
    const said = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(`${origin}/#profileURL=${encodeURIComponent(`${origin}/${name}`)}&view=sandwich`);
    try {
      return { totals: await read_table(page), said };
    } catch (error) {
      throw new Error(`speedscope: ${name} was not imported: ${error.message}\n${said.join('\n')}`);
    } finally {
      await page.screenshot({ path: path.join(this.folder, `${name}.png`) });
      await page.close();
    }
  }

  async close() {
    await this.browser.close();
    this.server.close();
  }
}

// Against the schema that speedscope publishes; what is wrong, or null.
export function schema_errors(file) {
  const Ajv = require('ajv');
  const schema = JSON.parse(fs.readFileSync(path.join(pages, 'file-format-schema.json')));
  const check = new Ajv({ strict: false }).compile(schema);
  check(JSON.parse(fs.readFileSync(file)));
  return check.errors;
}
