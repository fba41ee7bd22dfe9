// Pages of write_golden in headless chromium. Screenshots are left in the folder.
import assert from 'node:assert/strict';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch_browser } from './browser.mjs';

const folder = path.resolve(process.argv[2] ?? assert.fail(`usage: ${path.basename(process.argv[1])} FOLDER`));
const browser = await launch_browser();

// Opens a page that must not print errors nor ask the network for anything.
export async function open(name, { dark = false, width = 1280, height = 800, address = '' } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' });
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && page.problems.push(message.text()));
  page.on('request', (request) => /^(file|data):/.test(request.url()) || page.problems.push(request.url()));
  await page.goto(pathToFileURL(path.join(folder, name)).href + address);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  return page;
}

export async function close(page, screenshot) {
  if (screenshot) await page.screenshot({ path: path.join(folder, screenshot) });
  assert.deepEqual(page.problems, []);
  await page.close();
}

// Runs the tests one after the other.
export async function run(tests) {
  for (const test of tests) {
    await test();
    console.log(`html: ${test.name.replaceAll('_', ' ')}`);
  }
  await browser.close();
}
