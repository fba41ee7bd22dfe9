// Calls of traced functions in the page of `swipr view --live`, in headless chromium.
// usage: live_calls.mjs FOLDER SWIPR PRELOAD PHASES LOCKED_CALLS       (tests/targets/times)
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { follow, functions_of, painted, run_tests, wait_for_text } from './live_page.mjs';

const [folder, swipr, preload, phases, locked_calls] = process.argv.slice(2);
if (!locked_calls) assert.fail('usage: live_calls.mjs FOLDER SWIPR PRELOAD PHASES LOCKED_CALLS');
const { said, open, close, end: end_phases } = await follow({ folder, swipr, preload, program: [phases, '40'], latency: ['hold_mutex', 'enter_mutex'] });
const locked = await follow({ folder, swipr, preload, program: [locked_calls], latency: ['handle_call', 'want_cache'] });
locked.target.stdin.write('serve 1000000\n');

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
  const { chosen, all: whole } = sums.count_chosen(all, (duration) => duration > 2e6);
  assert.deepEqual([chosen.calls, whole.calls], [10, 100]);
  near(chosen.time / whole.time, 80 / 170);
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

// Which samples count, of calls that have ended and of one that has not.
async function samples_have_parts() {
  const [sums, parts] = ['call_sums', 'call_parts'].map((name) => fs.readFileSync(new URL(`../../cli/export/web/live/${name}.js`, import.meta.url), 'utf8'));
  const { choose_sets, bucket_begin } = await import(`data:text/javascript,${encodeURIComponent(sums + parts.replace(/^import .*$/m, ''))}`);
  const limit = bucket_begin(640);
  const call = (func, bucket, is_open = false) => ({ func, bucket, is_open });
  const call_sets = [[call(0, 600)], [call(0, 640)], [call(0, 600, true)], [call(0, 700, true)], [call(1, 700), call(0, 600)], [call(1, 600), call(0, 700)]];
  const chosen = (...filters) => choose_sets({ call_sets }, filters)?.join('') ?? null;
  const filter = (func, part, from = limit, to = null) => ({ func, part, limits: { from, to } });
  assert.equal(chosen(), null);
  assert.equal(chosen(filter(0, 'all')), null);
  assert.equal(chosen(filter(0, 'within')), '111111');
  assert.equal(chosen(filter(0, 'slow')), '010101');
  assert.equal(chosen(filter(0, 'normal')), '100010');
  assert.equal(chosen(filter(0, 'difference')), '110111');
  assert.equal(chosen(filter(1, 'within')), '000011');
  assert.equal(chosen(filter(0, 'slow'), filter(1, 'normal')), '000001');
  // A call that is not over may become longer than the upper limit.
  assert.equal(chosen(filter(0, 'slow', limit, bucket_begin(660))), '010000');
}

// [share of the total, change] of functions, by name.
const shares_of = async (page) => Object.fromEntries((await functions_of(page)).map((row) => [row.at(-1), [parseFloat(row[1]), row[2]]]));

// Until the table has the one function and lacks the other: it is painted after the tab was chosen.
async function wait_for_functions(page, wanted, unwanted) {
  await page.waitForFunction(([with_it, without]) => {
    const names = [...document.querySelectorAll('#functions tbody tr')].map((row) => row.cells[row.cells.length - 1].innerText);
    return names.includes(with_it) && !names.includes(without);
  }, [wanted, unwanted]);
}

const milliseconds = (text) => parseFloat(text.replace('−', '-')) * (text.includes('us') || text.includes('µs') ? 1e-3 : 1);

// Each tenth call waits for 8 ms for the journal, all for 2 ms for the cache. On a busy machine other calls are
// slow as well, but none that waits for the journal is not.
async function slow_calls_differ_in_what_they_do() {
  const page = await locked.open({ fragment: '#window=last60&from=5000000' });
  await page.click('#panes [value=latency]');
  // Samples come earlier than calls, which come once a second: of a few seconds there are too many for each.
  await page.waitForFunction(() => /calls\s*([4-9]\d\d|[\d,]{5,})/.test(document.querySelector('#call-facts').innerText));
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'paused');
  await wait_for_text(page, '#call-facts', 'Above 5');
  await page.click('#call-parts [value=slow]');
  await wait_for_text(page, '#filters', 'in calls of handle_call above 5.00 ms');
  assert.equal(await page.inputValue('#weight'), 'wall');
  await page.screenshot({ path: path.join(folder, 'live-calls-slow.png') });
  await page.click('#panes [value=functions]');
  await page.click('#functions th button[value=total]');
  await wait_for_functions(page, 'want_journal', 'clean_cache');
  const slow = await shares_of(page);
  assert.ok(slow.want_journal[0] > 25 && slow.want_journal[0] < 90, `journal: ${slow.want_journal[0]} % of slow calls`);
  assert.ok(slow.want_cache[0] > 10, `cache: ${slow.want_cache[0]} % of slow calls`);
  // The other calls never wait for the journal.
  await page.click('#panes [value=latency]');
  await page.click('#call-parts [value=normal]');
  await wait_for_text(page, '#filters', 'in calls of handle_call not above 5.00 ms');
  await page.click('#panes [value=functions]');
  await wait_for_functions(page, 'want_cache', 'want_journal');
  const normal = await shares_of(page);
  assert.ok(normal.want_cache[0] > 80, `cache: ${normal.want_cache[0]} % of other calls`);
  // Per call.
  await page.click('#panes [value=latency]');
  await page.click('#call-parts [value=difference]');
  await wait_for_text(page, '#summary', 'in a slow call');
  const [, one, other] = /([\d.]+ \S+) of wall time in a slow call, ([\d.]+ \S+) in another one/.exec(await page.innerText('#summary'));
  assert.ok(milliseconds(one) > 5, `${one} in a slow call`);
  assert.ok(milliseconds(other) > 1.4 && milliseconds(other) < 9, `${other} in another one`);
  await page.click('#panes [value=functions]');
  await page.waitForSelector('#functions th.change:not([hidden])');
  await wait_for_functions(page, 'want_journal', 'clean_cache');
  const change = await shares_of(page);
  const journal = milliseconds(change.want_journal[1]);
  assert.ok(journal > 2.5 && journal < 20, `journal: ${change.want_journal[1]} more in a slow call`);
  await page.screenshot({ path: path.join(folder, 'live-calls-difference.png') });
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('#filters').innerText === '');
  await locked.close(page, 'live-calls-all.png');
}

// Calls of one function within slow calls of another one; a link leads back.
async function filters_are_nested() {
  const page = await locked.open({ fragment: '#window=last60&weight=wall&part=slow&from=5000000', dark: true });
  await wait_for_text(page, '#filters', 'in calls of handle_call above');
  await page.click('#panes [value=latency]');
  await page.click('#call-keep');
  await page.selectOption('#call-function', 'want_cache');
  await page.click('#call-parts [value=within]');
  await wait_for_text(page, '#filters', 'in calls of want_cache');
  await wait_for_text(page, '#filters', 'in calls of handle_call above');
  assert.match(page.url(), /calls=want_cache/);
  await page.click('#panes [value=functions]');
  await page.click('#functions th button[value=total]');
  await wait_for_functions(page, 'want_cache', 'want_journal');
  const within = await shares_of(page);
  assert.ok(within.want_cache[0] > 99, `cache: ${within.want_cache[0]} % of its own calls`);
  await page.click('#filters button >> nth=0');
  await page.waitForFunction(() => !document.querySelector('#filters').innerText.includes('handle_call'));
  // By key: slow ones, and back.
  await page.keyboard.press('9');
  await wait_for_text(page, '#filters', 'in calls of want_cache above');
  await page.keyboard.press('9');
  await page.waitForFunction(() => document.querySelector('#filters').innerText === '');
  await locked.close(page, 'live-calls-nested.png');
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
  await drag_over(page, '#histogram', 0.4, 0.4);  // a click
  await wait_for_text(page, '#call-facts', 'Above');
  await drag_over(page, '#histogram', 0.4, 0);  // everything is slower than what is at the left
  await wait_for_text(page, '#call-facts', '100 % of the calls, 100 % of their time');
  await drag_over(page, '#histogram', 0, 1);
  await wait_for_text(page, '#call-facts', '0 % of the calls, 0 % of their time');
  await drag_over(page, '#histogram', 0.02, 0.98);  // a range of durations
  await wait_for_text(page, '#call-facts', 'From');
  await wait_for_text(page, '#call-facts', '100 % of the calls, 100 % of their time');
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

async function end() {
  await end_phases();
  await locked.end();
}

await run_tests('live calls', [durations_add_up, samples_have_parts, slow_calls_differ_in_what_they_do, filters_are_nested,
                               durations_of_calls_are_shown, a_threshold_of_calls_is_dragged, calls_are_compared_with_a_baseline], end);
