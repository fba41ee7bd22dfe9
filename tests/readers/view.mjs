// Records a program with `swipr record`, shows it with `swipr view` and uses the pages as a person would, in
// headless chromium. Screenshots are left in the folder.
// usage: view.mjs FOLDER SWIPR PROGRAM       (PROGRAM: tests/targets/times/burn.cc)
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { launch_browser } from './browser.mjs';

const [folder, swipr, program] = process.argv.slice(2);
if (!program) assert.fail('usage: view.mjs FOLDER SWIPR PROGRAM');
const recording = path.join(folder, 'view.swipr');
const runtime = fs.mkdtempSync('/tmp/swipr-view-');
const env = { ...process.env, SWIPR_SOCKET_DIR: runtime, DISPLAY: '', WAYLAND_DISPLAY: '' };

execFileSync(swipr, ['record', '--interval', '5ms', '-o', recording, '--', program, '500'],
             { env, stdio: ['ignore', 'ignore', 'pipe'] });
const server = spawn(swipr, ['view', recording], { env, stdio: ['ignore', 'pipe', 'pipe'] });
const said = [];
readline.createInterface({ input: server.stderr }).on('line', (line) => said.push(line));
const ended = new Promise((resolve) => server.on('exit', (code) => resolve(code)));
const url = await new Promise((resolve, reject) => {
  readline.createInterface({ input: server.stdout }).once('line', resolve);
  ended.then((code) => reject(new Error(`swipr view ended with ${code}: ${said.join('\n')}`)));
});
ended.catch(() => {});
assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);

const browser = await launch_browser();
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });

// A page that must not print errors nor ask anybody else for anything.
async function open(address, { dark = false, width = 1280 } = {}) {
  const page = await context.newPage();
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && page.problems.push(message.text()));
  page.on('request', (request) => /^(data|blob):/.test(request.url()) || request.url().startsWith(url) ||
    page.problems.push(request.url()));
  await page.goto(address);
  return page;
}

const ready = (page) => page.waitForSelector('html[data-ready]', { state: 'attached' });

async function close(page, screenshot) {
  await page.screenshot({ path: path.join(folder, screenshot) });
  assert.deepEqual(page.problems, []);
  await page.close();
}

async function overview_shows_the_hot_function() {
  const page = await open(url);
  await ready(page);
  assert.match(await page.innerText('h1'), /^burn_/);
  const hot = (await page.$$eval('#hot tbody tr', (all) => all.map((row) => row.innerText.split('\t'))))[0];
  assert.match(hot[2], /burn_hot|target::churn/);
  assert.ok(parseFloat(hot[0]) > 50, `the hot function has ${hot[0]}`);
  assert.equal(await page.locator('.lane').count(), 1);
  // The lane is coloured by state: green where the thread runs.
  const green = await page.evaluate(() => {
    const canvas = document.querySelector('.lane canvas');
    const { data } = canvas.getContext('2d').getImageData(0, canvas.height - 2, canvas.width, 1);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) count += data[at + 1] > data[at] && data[at + 1] > data[at + 2];
    return count;
  });
  assert.ok(green > 0, 'nothing of the lane is green');
  await close(page, 'view-overview.png');
}

async function overview_is_used_by_keyboard() {
  const page = await open(url, { dark: true });
  await ready(page);
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.ok(/\d+/.exec(ground)[0] < 60, `the dark page is ${ground}`);
  await page.keyboard.press('/');
  await page.keyboard.type('no such thread');
  assert.equal(await page.locator('.lane').count(), 0);
  await page.fill('#thread-search', '');
  await page.focus('.lane button');
  await page.keyboard.press('Enter');
  assert.match(await page.innerText('#chosen'), /^Only burn_/);
  await page.screenshot({ path: path.join(folder, 'view-dark.png') });
  await page.keyboard.press('Escape');
  assert.equal(await page.innerText('#chosen'), '');
  await page.keyboard.press('2');
  await page.waitForURL(`${url}flame`);
  await ready(page);
  await close(page, 'view-dark-flame.png');
}

async function flame_graph_leads_back() {
  const page = await open(`${url}flame`);
  await ready(page);
  await page.keyboard.press('/');
  await page.keyboard.type('burn_hot');
  assert.match(await page.innerText('#found'), /^\d+(\.\d)? % in \d+ places?$/);
  await page.keyboard.press('Enter');
  assert.match(await page.innerText('#selected'), /^burn_hot/);
  await page.screenshot({ path: path.join(folder, 'view-flame.png') });
  await page.click('#links a:has-text("Overview")');
  await page.waitForURL(url);
  await close(page, 'view-back.png');
}

async function narrow_pages_do_not_scroll_sideways() {
  const page = await open(url, { width: 420 });
  await ready(page);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 420, `a narrow page is ${width} pixels wide`);
  await close(page, 'view-narrow.png');
}

async function speedscope_opens_the_profile() {
  const page = await open(url);
  await ready(page);
  const link = page.locator('#links a', { hasText: 'speedscope' });
  if (await link.count() === 0) {
    assert.match(said.join('\n'), /this build has no speedscope/);
    console.log('view: this build has no speedscope');
    return close(page, 'view-speedscope.png');
  }
  await link.click();
  await page.waitForURL(/speedscope\/index\.html/);
  await page.getByText('Sandwich').waitFor();
  await page.getByText('Sandwich').click();
  // Its protobuf reader tries eval once, which is not allowed here, and does without.
  page.problems = page.problems.filter((problem) => !problem.includes('script-src'));
  await page.waitForFunction(() => [...document.querySelectorAll('td')].some((cell) => cell.innerText.includes('burn_hot')));
  await close(page, 'view-speedscope.png');
}

async function tells_strangers_nothing() {
  const origin = new URL(url).origin;
  assert.equal((await fetch(`${origin}/`)).status, 404);
  assert.equal((await fetch(`${origin}/${'0'.repeat(32)}/`)).status, 404);
}

try {
  for (const test of [overview_shows_the_hot_function, overview_is_used_by_keyboard, flame_graph_leads_back,
                      narrow_pages_do_not_scroll_sideways, speedscope_opens_the_profile, tells_strangers_nothing]) {
    await test();
    console.log(`view: ${test.name.replaceAll('_', ' ')}`);
  }
} finally {
  await browser.close();
  server.kill('SIGINT');
  fs.rmSync(runtime, { recursive: true });
}
assert.equal(await ended, 0);
