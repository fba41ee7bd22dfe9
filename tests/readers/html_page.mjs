// Uses the page of --format html as a person would, in headless chromium. Screenshots are left in the folder.
// usage: html_page.mjs FOLDER       (with the files of write_golden)
import assert from 'node:assert/strict';
import { close, open, run } from './html_support.mjs';

const rows = (page) => page.$$eval('#functions tbody tr', (all) => all.map((row) => row.innerText.split('\t')));
const selected = (page) => page.innerText('#selected');
const pixel = (page, y = 2) => page.evaluate((y) => {
  const canvas = document.getElementById('canvas');
  return [...canvas.getContext('2d').getImageData(8, y, 1, 1).data];
}, y);

async function finds_the_hot_function() {
  const page = await open('golden.html');
  assert.equal(await page.innerText('h1'), 'golden (100)');
  assert.equal(await page.inputValue('#weight'), 'cpu');
  assert.deepEqual((await rows(page))[0], ['84.4 %', '88.9 %', 'mix(unsigned int)']);
  // The flame graph itself: 20 of 22.5 ms are in _start, the widest frame of the second row.
  const stage = await page.locator('#stage').boundingBox();
  await page.mouse.move(stage.x + 40, stage.y + 30);
  assert.match(await page.innerText('#tooltip'), /^_start\ngolden\n?\s*total\s+20\.0 ms\s+88\.9 %(?!\s+self)/);
  await page.mouse.click(stage.x + 40, stage.y + 70);
  assert.match(await selected(page), /^\(anonymous namespace\)::burn.* golden · main\.cc:12 — total 19\.0 ms 84\.4 %/);
  assert.ok(await page.isVisible('#reset'));
  await close(page, 'html-zoomed.png');
}

async function is_used_by_keyboard() {
  const page = await open('golden.html');
  await page.keyboard.press('/');
  await page.keyboard.type('MIX(');
  assert.equal(await page.innerText('#found'), '88.9 % in 2 places');
  assert.equal((await rows(page)).length, 1);
  await page.keyboard.press('Enter');
  assert.match(await selected(page), /^mix\(unsigned int\)/);
  await page.keyboard.press('Escape');
  assert.equal(await page.inputValue('#search'), '');
  await page.focus('#stage');
  await page.keyboard.press('Home');
  for (const name of ['_start', 'main', '(anonymous namespace)::burn(std::vector<int> const&)']) {
    await page.keyboard.press('ArrowDown');
    assert.equal((await selected(page)).split(' golden')[0], name);
  }
  await page.keyboard.press('Enter');
  assert.match(await page.innerText('#spoken'), /^\(anonymous namespace\)::burn.*, total 19\.0 ms 84\.4 %/);
  await page.keyboard.press('Backspace');
  assert.match(await selected(page), /^main/);
  await page.keyboard.press('Escape');
  assert.ok(!await page.isVisible('#reset'));
  await page.keyboard.press('2');
  assert.match(await page.innerText('#summary'), /^61 samples$/);
  await page.keyboard.press('i');
  await page.focus('#stage');
  await page.keyboard.press('ArrowDown');
  assert.match(await selected(page), /^\[poll\]/);
  await page.keyboard.press('/');
  await page.keyboard.type('/(/');
  assert.match(await page.innerText('#found'), /Invalid regular expression/);
  await close(page, 'html-keyboard.png');
}

async function filters() {
  const page = await open('golden.html');
  await page.selectOption('#weight', 'wall');
  assert.match(await page.innerText('#summary'), /^610 ms of wall time/);
  await page.uncheck('#states input[value=blocked]');
  assert.match(await page.innerText('#summary'), /^50\.0 ms/);
  await page.check('#states input[value=blocked]');
  await page.click('.lane button:has-text("pool 3/4 #1")');
  assert.match(await page.innerText('#summary'), /^110 ms of wall time, 1 of 3 threads/);
  // From 20 % to 60 % of 480 ms.
  const marks = await page.$$eval('#axis span', (all) => all.map((mark) => mark.innerText));
  assert.deepEqual(marks, ['0', '100 ms', '200 ms', '300 ms', '400 ms']);  // of 480
  const lane = await page.locator('.lane canvas').first().boundingBox();
  await page.click('#filters button');
  await page.mouse.move(lane.x + lane.width * 0.2, lane.y + 5);
  await page.mouse.down();
  await page.mouse.move(lane.x + lane.width * 0.6, lane.y + 5, { steps: 4 });
  await page.mouse.up();
  assert.match(await page.innerText('#filters'), /^9[56]\.\d ms – 28[78] ms/);
  assert.match(await page.innerText('#summary'), /^2[34]\d ms of wall time/);
  await page.selectOption('#colouring', 'state');
  await close(page, 'html-range.png');
}

// Stacks with frames of Python lose those of the other kind; stacks without any stay as they are.
async function chooses_kinds_of_frames() {
  const names = async (page) => (await rows(page)).map((row) => row[2]);
  const plain = await open('golden.html');
  assert.ok(!await plain.isVisible('#kinds'), 'no choice where there is nothing to choose');
  await close(plain);
  const page = await open('mixed.html');
  const [own, library] = ['Worker.run (app.py)', '_start'];
  const all = await names(page);
  const whole = await page.innerText('#summary');
  assert.ok(all.includes(own) && all.includes(library), all.join());
  await page.selectOption('#kinds', 'native');
  assert.deepEqual((await names(page)).filter((name) => name.endsWith('.py)')), []);
  assert.equal(await page.innerText('#summary'), whole);
  await page.selectOption('#kinds', 'language');
  const row = (await rows(page)).find(([, , name]) => name === own);
  assert.equal(row[0], row[1], `${own} is innermost: ${row}`);
  assert.equal(await page.innerText('#summary'), whole);
  assert.ok((await names(page)).includes(library), 'stacks without Python keep their frames');
  await close(page, 'html-language.png');
}

async function compares_with_a_base() {
  const page = await open('difference.html');
  await page.selectOption('#weight', 'samples');
  assert.match(await page.innerText('#summary'), /^61 samples, \+24/);
  await page.focus('#stage');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  assert.match(await selected(page), /^_start golden — now 58 samples 95\.1 % · before 34 samples 91\.9 % · change \+24/);
  await page.keyboard.press('Home');
  const [red, , blue] = await pixel(page, 22);
  assert.ok(red > blue, `more than before is red, not ${red} ${blue}`);
  await close(page, 'html-difference.png');
}

// The base was recorded for half the time and did the same.
async function compares_recordings_of_different_length() {
  const page = await open('lengths.html');
  await page.selectOption('#weight', 'wall');
  assert.match(await page.innerText('#summary'), /^12\.\d s of wall time, [+−](\d|[1-9]\d)\.?\d? ms$/);
  assert.match(await page.innerText('#totals'), /before\s+× 2\.00/);
  await page.focus('#stage');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  const [now, before] = [...(await selected(page)).matchAll(/(?:now|before) ([\d.]+) s/g)].map(([, time]) => Number(time));
  assert.ok(Math.abs(now - before) < 0.02 * now, `${now} and ${before}`);
  await close(page, 'html-lengths.png');
}

async function survives_hostile_names() {
  const page = await open('hostile.html');
  assert.equal(await page.evaluate(() => window.broken), undefined);
  const names = (await rows(page)).map((row) => row[2]);
  assert.ok(names[0].startsWith('mix(unsigned int) \\"\'</script><script>window.broken = true</script>'), names[0]);
  assert.ok(names[0].endsWith('日本 😀'), names[0]);
  assert.match(await page.innerText('.lane >> nth=1'), /<img src=x/);
  await page.click('#warnings summary');
  assert.equal(await page.locator('img').count(), 0);
  await close(page, 'html-hostile.png');
}

async function follows_the_colour_scheme() {
  const light = await open('golden.html', { width: 420, height: 900 });
  const wide = await light.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 420, `a narrow page is ${wide} pixels wide`);
  const light_pixel = await pixel(light);
  await close(light, 'html-narrow.png');
  const dark = await open('golden.html', { dark: true });
  const dark_pixel = await pixel(dark);
  assert.ok(light_pixel[0] > 180 && dark_pixel[0] < 80, `${light_pixel} and ${dark_pixel}`);
  await dark.emulateMedia({ colorScheme: 'light' });
  await dark.waitForFunction((wanted) => String(document.getElementById('canvas').getContext('2d')
    .getImageData(8, 2, 1, 1).data) === wanted, String(light_pixel));
  await dark.emulateMedia({ colorScheme: 'dark' });
  await close(dark, 'html-dark.png');
}

// Nothing of a lane is white; CPU time of bursts is in all ticks, not only in those that were sampled.
async function lanes_have_no_gaps() {
  const page = await open('bursts.html');
  const heights = await page.$$eval('.lane canvas', (all) => all.map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 1, canvas.width - 1, 1);
    return data.filter((_, at) => at % 4 === 3).reduce((least, alpha) => Math.min(least, alpha), 255);
  }));
  assert.equal(heights.length, 1);
  assert.ok(heights[0] > 60, `gaps: ${heights}`);
  const bursts = await page.$eval('.lane canvas', (canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, canvas.height - 1, canvas.width, 1);
    const is_green = Array.from({ length: canvas.width }, (_, x) => data[4 * x + 1] > data[4 * x + 2] + 30);
    return is_green.filter((green, x) => green && !is_green[x - 1]).length;
  });
  assert.ok(bursts > 120, `${bursts} of 200 bursts are seen`);
  await close(page, 'html-lanes.png');
}

async function groups_threads_of_one_name() {
  const page = await open('workers.html');
  assert.match(await page.innerText('.lane.group .thread'), /^pool\s+×4\s/);
  const members = await page.$$eval('.lane.member .thread', (all) => all.map((lane) => lane.innerText.split(/\s+/).slice(0, 2).join(' ')));
  assert.deepEqual(members.sort(), ['pool 211', 'pool 212', 'pool 213', 'pool 214']);
  await page.click('.lane.group .thread');
  assert.match(await page.innerText('#summary'), /4 of 6 threads/);
  await page.focus('.lane.group .opener');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('.lane.member').count(), 0);
  assert.equal(await page.getAttribute('.lane.group .opener', 'aria-expanded'), 'false');
  await page.keyboard.press('Enter');
  await page.click('.lane.member .thread:has-text("213")');
  assert.match(await page.innerText('#summary'), /1 of 6 threads/);
  await close(page);
}

await run([finds_the_hot_function, lanes_have_no_gaps, groups_threads_of_one_name, is_used_by_keyboard, filters,
           chooses_kinds_of_frames, compares_with_a_base,
           compares_recordings_of_different_length, survives_hostile_names, follows_the_colour_scheme]);
