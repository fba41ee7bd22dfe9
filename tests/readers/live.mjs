// Follows a program with `swipr view --live` and uses its page as a person would, in headless chromium.
// Screenshots are left in the folder.
// usage: live.mjs FOLDER SWIPR PRELOAD PROGRAM       (PROGRAM: tests/targets/times/phases.cc)
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { launch_browser } from './browser.mjs';

const [folder, swipr, preload, program] = process.argv.slice(2);
if (!program) assert.fail('usage: live.mjs FOLDER SWIPR PRELOAD PROGRAM');
const DEADLINE_MS = 60_000;
const runtime = fs.mkdtempSync('/tmp/swipr-live-');
const env = { ...process.env, SWIPR_SOCKET_DIR: runtime, DISPLAY: '', WAYLAND_DISPLAY: '' };

const first_line = (stream) => new Promise((resolve) => readline.createInterface({ input: stream }).once('line', resolve));
const end_of = (child) => new Promise((resolve) => child.on('exit', (code) => resolve(code)));

const target = spawn(program, ['40'], { env: { ...env, LD_PRELOAD: preload }, stdio: ['pipe', 'pipe', 'inherit'] });
assert.equal(await first_line(target.stdout), 'ready');
const server = spawn(swipr, ['view', '--live', '--pid', String(target.pid), '--latency', 'hold_mutex', '--latency', 'enter_mutex'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
const said = [];
readline.createInterface({ input: server.stderr }).on('line', (line) => said.push(line));
const ended = end_of(server);
const url = await Promise.race([first_line(server.stdout), ended.then((code) => assert.fail(`view ended with ${code}: ${said.join('\n')}`))]);
assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);

const browser = await launch_browser();
const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
context.setDefaultTimeout(DEADLINE_MS);

// A page that must not print errors nor ask anybody else for anything.
async function open({ dark = false, width = 1280, fragment = '' } = {}) {
  const page = await context.newPage();
  await page.setViewportSize({ width, height: 860 });
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && page.problems.push(message.text()));
  page.on('request', (request) => /^(data|blob):/.test(request.url()) || request.url().startsWith(url) || page.problems.push(request.url()));
  await page.goto(url + fragment);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  return page;
}

async function close(page, screenshot) {
  await page.screenshot({ path: path.join(folder, screenshot) });
  assert.deepEqual(page.problems, []);
  await page.close();
}

// [self, total, name] of the functions that the page shows.
const functions = (page) => page.$$eval('#functions tbody tr', (all) => all.map((row) =>
  [...row.cells].filter((cell) => !cell.classList.contains('trend')).map((cell) => cell.innerText)));

// Until the function has more than half of the weight of the window.
async function wait_for_most(page, name) {
  await page.waitForFunction((wanted) => [...document.querySelectorAll('#functions tbody tr')].some((row) =>
    row.cells[row.cells.length - 1].innerText === wanted && parseFloat(row.cells[1].innerText) > 50), name);
}

async function wait_for_text(page, selector, text) {
  await page.waitForFunction(([where, wanted]) => document.querySelector(where)?.innerText.includes(wanted), [selector, text]);
}

const painted = (page) => page.evaluate(() => Number(document.documentElement.dataset.painted));

async function wait_for_paints(page, count) {
  const before = await painted(page);
  await page.waitForFunction((wanted) => Number(document.documentElement.dataset.painted) >= wanted, before + count);
}

async function a_change_of_phase_is_seen() {
  const page = await open();
  await wait_for_text(page, '#state', 'live');
  assert.match(await page.innerText('h1'), new RegExp(`^phases\\w* ${target.pid}$`));
  await wait_for_most(page, 'phase_one');
  target.stdin.write('\n');
  await wait_for_most(page, 'phase_two');
  await wait_for_text(page, '#functions', 'phase_one');  // the last minutes are there still
  const trends = await page.locator('#functions canvas.trend').count();
  assert.equal(trends, (await functions(page)).length);
  target.stdin.write('\n');
  await wait_for_most(page, 'phase_one');
  await close(page, 'live.png');
}

async function a_time_is_brushed() {
  const page = await open({ dark: true });
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'paused');
  const before = await painted(page);
  // Over the whole of the heat map: everything that has been recorded.
  const area = await page.locator('#heat').boundingBox();
  await page.mouse.move(area.x + 2, area.y + 2);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width - 2, area.y + area.height - 4, { steps: 5 });
  await page.mouse.up();
  await wait_for_text(page, '#filters', 'ago');
  const marked = await page.locator('#range').boundingBox();
  const column = area.width / 120;  // seconds of the heat map
  assert.ok(Math.abs(marked.x - area.x) < column && Math.abs(marked.x + marked.width - area.x - area.width) < column,
            `from ${marked.x}, ${marked.width} wide, is marked; the heat map is from ${area.x}, ${area.width} wide`);
  const names = (await functions(page)).map(([, , name]) => name);
  for (const name of ['phase_one', 'phase_two']) assert.ok(names.includes(name), `${name} is not among ${names}`);
  const seen = await painted(page);
  assert.ok(seen > before);
  // A cell of it.
  await page.mouse.move(area.x + area.width - 30, area.y + 10);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width - 20, area.y + 40, { steps: 3 });
  await page.mouse.up();
  await page.waitForFunction(() => /\((\d+(\.\d+)? ms|[0-3]\.\d+ s)\)/.test(document.querySelector('#filters').innerText));
  await page.screenshot({ path: path.join(folder, 'live-brushed.png') });
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('#filters').innerText === '');
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'live');
  await wait_for_paints(page, 2);
  await close(page, 'live-dark.png');
}

// Pixels of the heat map that are not of the ground.
const warm_cells = (page) => page.evaluate(() => {
  const canvas = document.getElementById('heat');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) count += data[at] !== data[at + 2];
  return count;
});

async function panes_are_linked() {
  const page = await open({ fragment: '#window=all' });
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'paused');
  const all = await warm_cells(page);
  assert.ok(all > 20, `${all} cells are warm`);
  // A thread that only waits.
  await page.fill('#thread-search', 'waiter');
  assert.equal(await page.locator('.lane button.thread').count(), 1);
  await page.click('.lane button.thread');
  await wait_for_text(page, '#filters', 'only waiter');
  await page.waitForFunction(() => !document.querySelector('#functions').innerText.includes('phase_one'));
  assert.ok(await warm_cells(page) < all / 4);
  await page.click('#filters button');
  await page.fill('#thread-search', '');
  // What is searched for.
  await page.keyboard.press('Escape');
  await page.fill('#search', 'phase_two');
  await wait_for_text(page, '#found', '% match');
  await page.waitForFunction(() => document.querySelectorAll('#functions tbody tr').length === 1);
  const searched = await warm_cells(page);
  assert.ok(searched > 0 && searched < all, `${searched} of ${all} cells are warm`);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('#search').value === '');
  // What is zoomed to: by keyboard, down the widest path.
  await page.focus('#stage');
  for (let step = 0; step < 3; ++step) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#reset:not([hidden])');
  await close(page, 'live-linked.png');
}

async function waits_and_locks_have_owners() {
  const page = await open({ fragment: '#window=last60&weight=wall' });
  assert.equal(await page.inputValue('#weight'), 'wall');
  await page.click('#panes [value=locks]');
  await wait_for_text(page, '#locks', 'mutex in enter_mutex — held by holder');
  await wait_for_text(page, '#locks', 'mostly in (anonymous namespace)::sleep_ms');
  await page.screenshot({ path: path.join(folder, 'live-locks.png') });
  await page.click('#panes [value=waits]');
  await wait_for_text(page, '#waits', 'futex');
  await page.click('#panes [value=callers]');
  await wait_for_text(page, '#callers', 'Choose a function');
  await page.click('#panes [value=functions]');
  await page.click('#functions tbody button:has-text("enter_mutex")');
  await page.click('#panes [value=callers]');
  await wait_for_text(page, '#callers', 'Called by');
  await close(page, 'live-waits.png');
}

async function a_baseline_shows_what_has_changed() {
  const page = await open();
  await page.click('#functions th button[value=total]');
  await wait_for_most(page, 'phase_one');
  await page.keyboard.press('b');
  await page.waitForSelector('#functions th.change:not([hidden])');
  target.stdin.write('\n');
  await page.waitForFunction(() => [...document.querySelectorAll('#functions tbody tr')].some((row) =>
    row.innerText.includes('phase_two') && /^\+\d\d/.test(row.cells[2].innerText)));
  await page.screenshot({ path: path.join(folder, 'live-difference.png') });
  await page.keyboard.press('b');
  await page.waitForSelector('#functions th.change[hidden]', { state: 'attached' });
  target.stdin.write('\n');
  await close(page, 'live-after-difference.png');
}

async function narrow_pages_do_not_scroll_sideways() {
  for (const [width, dark] of [[700, false], [420, true]]) {
    const page = await open({ width, dark });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `a page of ${width} pixels is ${wide} wide`);
    await close(page, `live-${width}.png`);
  }
}

// Buckets as in common/core/duration_buckets.h, bars and quantiles of known calls.
async function durations_add_up() {
  const text = fs.readFileSync(new URL('../../cli/export/web/live/call_sums.js', import.meta.url), 'utf8');
  const sums = await import(`data:text/javascript,${encodeURIComponent(text)}`);
  assert.deepEqual([0, 63, 64, 65, 96, 1919].map(sums.bucket_begin), [0, 63, 64, 66, 128, 63 * 2 ** 58]);
  const bucket_of = (value) => {
    const shift = Math.floor(Math.log2(value)) - 5;
    return shift < 1 ? value : 32 * shift + Math.floor(value / 2 ** shift);
  };
  for (const value of [1, 63, 64, 1000, 123_456, 30_000_000]) {
    assert.ok(sums.bucket_begin(bucket_of(value)) <= value && value < sums.bucket_begin(bucket_of(value) + 1), `${value} ns`);
  }
  // 90 calls of 1 ms, 10 of 8 ms, in the two seconds of which the later one is half in the window.
  const [quick, slow] = [bucket_of(1e6), bucket_of(8e6)];
  const rows = [[0, 0, 1920, 1e9], [0, 0, quick, 60], [1, 0, 1920, 1e9], [1, 0, quick, 60], [1, 0, slow, 20], [1, 1, slow, 5]];
  const model = { call_rows: Object.fromEntries(['second', 'function', 'bucket', 'calls'].map((name, at) => [name, rows.map((row) => row[at])])) };
  model.call_rows.count = rows.length;
  const all = sums.sum_calls(model, { share: (second) => second === 0 ? 1 : 0.5 }, 0);
  assert.deepEqual([all.calls, all.traced], [100, 1.5e9]);
  const near = (value, wanted) => assert.ok(Math.abs(value / wanted - 1) < 0.016, `${value}, not ${wanted}`);
  near(sums.quantile_of(all, 0.5), 1e6);
  near(sums.quantile_of(all, 0.9), 1e6);
  near(sums.quantile_of(all, 0.95), 8e6);
  assert.equal(sums.quantile_of({ buckets: [], calls: 0 }, 0.5), null);
  const [calls, time] = sums.above(all, 2e6);
  assert.equal(calls, 0.1);
  near(time, 80 / 170);
  const scale = sums.make_scale(all);
  const bars = sums.bars_of(all, scale);
  assert.deepEqual(bars.filter((count) => count > 0), [90, 10]);
  assert.deepEqual([bars[0], bars.at(-1)], [0, 0]);
  assert.ok(Math.abs(sums.bar_of_duration(1e6, scale) - bars.indexOf(90) - 0.5) < 1);
  near(sums.duration_of_bar(sums.bar_of_duration(5e6, scale), scale), 5e6);
  const curve = sums.smooth(bars, 100);
  assert.equal(curve.indexOf(Math.max(...curve)), bars.indexOf(90));
  assert.deepEqual(sums.marks_of(scale, 1).map(({ duration }) => duration), [1e6, 2e6, 5e6]);
  assert.deepEqual(sums.make_scale({ buckets: [], calls: 0 }).count, 0);
}

// What the page says of the traced function: { calls: ['123'], p50: ['30.1 ms', 'was 29 ms'], … }
const call_facts = async (page) => Object.fromEntries(await page.$$eval('#call-facts dl div', (all) =>
  all.map((fact) => [fact.children[0].textContent, [...fact.children].slice(1).map(({ textContent }) => textContent)])));

async function wait_for_calls(page) {
  try {
    await page.waitForFunction(() => /calls\s*[1-9][\d,]/.test(document.querySelector('#call-facts').innerText));
  } catch (error) {
    assert.fail(`${error.message}: ${await page.innerText('#call-facts')}; ${said.join('; ')}`);
  }
}

async function drag_over(page, selector, from, to) {
  const area = await page.locator(selector).boundingBox();
  const x = (share) => area.x + share * (area.width - 2) + 1;
  await page.mouse.move(x(from), area.y + 40);
  await page.mouse.down();
  await page.mouse.move(x(to), area.y + 40, { steps: 4 });
  await page.mouse.up();
}

// hold_mutex takes 30 ms, and 3 ms lie between two calls; enter_mutex takes as long, or no time.
async function durations_of_calls_are_shown() {
  for (const [width, dark] of [[1280, false], [700, true], [1280, true], [700, false]]) {
    const page = await open({ width, dark, fragment: '#window=last60' });
    await page.click('#panes [value=latency]');
    await wait_for_calls(page);
    const { p50: [p50], 'a second': [rate] } = await call_facts(page);
    assert.ok(p50.endsWith(' ms') && parseFloat(p50) >= 29, `half of the calls take ${p50}`);
    assert.ok(parseFloat(rate) > 0 && parseFloat(rate) <= 1000 / 33, `${rate} calls a second`);
    await wait_for_text(page, '#call-facts', '(p95)');
    assert.match(await page.innerText('#call-lane'), /Calls of hold_mutex/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
    await close(page, `live-latency-${width}${dark ? '-dark' : ''}.png`);
  }
}

async function a_threshold_of_calls_is_dragged() {
  const page = await open({ fragment: '#window=last60' });
  await page.click('#panes [value=latency]');
  await wait_for_text(page, '#call-facts', '(p95)');
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'paused');
  await drag_over(page, '#histogram', 0.5, 0);  // everything is slower than what is at the left
  await wait_for_text(page, '#call-facts', '100 % of the calls, 100 % of their time');
  await drag_over(page, '#histogram', 0, 1);
  await wait_for_text(page, '#call-facts', '0 % of the calls, 0 % of their time');
  await page.dblclick('#histogram');
  await wait_for_text(page, '#call-facts', '(p95)');
  await page.focus('#histogram');
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => !document.querySelector('#call-facts').innerText.includes('(p95)'));
  await page.keyboard.press('Home');
  await wait_for_text(page, '#call-facts', '(p95)');
  const paused = await call_facts(page);
  const before = await painted(page);
  await page.waitForTimeout(2500);  // more calls are told
  assert.equal(await painted(page), before);
  assert.deepEqual(await call_facts(page), paused);
  // A time in which there is nothing.
  await page.selectOption('#span', '600');
  await drag_over(page, '#call-heat', 0, 0.2);
  await wait_for_text(page, '#call-facts', 'No call has ended in this time.');
  await page.screenshot({ path: path.join(folder, 'live-latency-none.png') });
  await page.selectOption('#call-function', 'enter_mutex');
  await wait_for_text(page, '#call-lane', 'Calls of enter_mutex');
  assert.deepEqual(page.problems, []);
  await page.close();
}

async function calls_are_compared_with_a_baseline() {
  const page = await open();
  await page.click('#panes [value=latency]');
  await wait_for_calls(page);
  assert.equal((await call_facts(page)).p50.length, 1);
  const pixels = () => page.evaluate(() => {
    const canvas = document.getElementById('histogram');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((sum, value) => sum + value, 0);
  });
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'paused');
  const without = await pixels();
  await page.keyboard.press('b');
  await page.waitForFunction(() => /p95.*was .* ms/s.test(document.querySelector('#call-facts').innerText));
  assert.notEqual(await pixels(), without);  // the dashed line
  const { p50: [now, was] } = await call_facts(page);
  assert.equal(was, `was ${now}`);
  await page.screenshot({ path: path.join(folder, 'live-latency-baseline.png') });
  await page.keyboard.press('b');
  await page.waitForFunction(() => !document.querySelector('#call-facts').innerText.includes('was'));
  await close(page, 'live-latency-after-baseline.png');
}

const memory_kb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

// A browser that has been stopped reads nothing: what the server holds for it is one event.
async function a_stopped_browser_costs_nothing() {
  const http = await import('node:http');
  const stopped = [];
  for (let index = 0; index < 8; ++index) {
    await new Promise((resolve, reject) => {
      const request = http.get(`${url}events`, (response) => {
        response.pause();
        stopped.push(response);
        resolve();
      });
      request.on('error', reject);
    });
  }
  const page = await open();
  await wait_for_paints(page, 3);
  const before = memory_kb(server.pid);
  await wait_for_paints(page, 25);
  const grown = memory_kb(server.pid) - before;
  assert.ok(grown < 8 * 1024, `the server has grown by ${grown} KiB`);
  for (const response of stopped) response.destroy();
  await close(page, 'live-busy.png');
}

async function tells_strangers_nothing() {
  const { origin } = new URL(url);
  assert.equal((await fetch(`${origin}/events`)).status, 404);
  assert.equal((await fetch(`${url}events`, { headers: { origin: 'http://evil.example' } })).status, 403);
}

async function ends_with_the_process() {
  const page = await open();
  target.stdin.end();
  await wait_for_text(page, '#state', 'the process has ended');
  assert.equal(await ended, 0);
  assert.match(said.join('\n'), /the process has ended: phases/);
  // What was recorded can be looked at still.
  await page.selectOption('#window', 'all');
  await wait_for_text(page, '#summary', 'in all');
  await wait_for_text(page, '#functions', 'phase_two');
  await close(page, 'live-ended.png');
}

try {
  for (const test of [durations_add_up, a_change_of_phase_is_seen, a_time_is_brushed, panes_are_linked, waits_and_locks_have_owners,
                      durations_of_calls_are_shown, a_threshold_of_calls_is_dragged, calls_are_compared_with_a_baseline,
                      a_baseline_shows_what_has_changed, narrow_pages_do_not_scroll_sideways, a_stopped_browser_costs_nothing,
                      tells_strangers_nothing, ends_with_the_process]) {
    await test();
    console.log(`live: ${test.name.replaceAll('_', ' ')}`);
  }
} finally {
  await browser.close();
  target.kill('SIGKILL');
  server.kill('SIGKILL');
  fs.rmSync(runtime, { recursive: true });
}
