// SPDX-License-Identifier: Apache-2.0
// The page in a real browser: it loads, zooms, is clicked, finds the planted leak, and says nothing on the console.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { cleanUp, launch, live, open, pageOf, pageOfAll, pool } from "./browser.mjs";

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser?.close(); cleanUp(); });

const text = (page, selector) => page.$eval(selector, element => element.textContent);
const axis = page => page.evaluate(() => [plat.axis.from, plat.axis.to, plat.axis.end]);
// Where a life is drawn, in the window; nothing if it is not.
const spotOf = (page, life) => page.evaluate(life => {
  const { picture, canvas, height } = plat.blocks, box = canvas.getBoundingClientRect(), places = [];
  picture.lives.forEach((one, i) => { if (one === life) places.push(i); });
  if (places.length === 0) return null;
  const i = places[places.length >> 1], column = Math.floor(i / picture.height), row = i % picture.height;
  return { x: box.left + (column + 0.5) * picture.grain, y: box.top + height - 18 - (row + 0.5) * picture.grain };
}, life);

test("the planted leak is found and leads to its block", async () => {
  const { page, complaints } = await open(browser, pageOf("leak_device_block"));
  assert.match(await text(page, "#panel-findings"), /INSP-Leak-/);
  await page.click("#panel-findings button.link");
  const life = await page.evaluate("plat.selected");
  assert.ok(life >= 0);
  const details = await text(page, "#details");
  assert.match(details, /4 KiB/);
  assert.match(details, /never: taken back by acl/);
  assert.match(details, /aclrtMalloc/);
  assert.ok(await spotOf(page, life), "the block is on the picture");
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a click on a block tells all about it, and its neighbours are links", async () => {
  const { page, complaints } = await open(browser, pageOf("tensors", pool));
  const life = await page.evaluate("plat.ground.ranked.life[1]"), spot = await spotOf(page, life);
  await page.mouse.click(spot.x, spot.y);
  assert.equal(await page.evaluate("plat.selected"), life);
  const details = await text(page, "#details");
  for (const word of ["Size", "Owner", "Allocated", "Freed", "Copies", "Before it", "Behind it"]) assert.match(details, new RegExp(word));
  await page.click("#details dd button.link");
  assert.notEqual(await page.evaluate("plat.selected"), life);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the chosen block is seen on either ground", async () => {
  for (const dark of [false, true]) {
    const { page } = await open(browser, pageOf("leak_device_block"), { dark });
    await page.click("#panel-findings button.link");
    const spot = await spotOf(page, await page.evaluate("plat.selected"));
    const far = await page.evaluate(({ x, y }) => {
      const { canvas } = plat.blocks, box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
      const [red, green, blue] = canvas.getContext("2d").getImageData((x - box.left) * scale, (y - box.top) * scale, 1, 1).data;
      const ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
      return Math.abs(red - ground[0]) + Math.abs(green - ground[1]) + Math.abs(blue - ground[2]);
    }, spot);
    assert.ok(far > 300, `it is ${far} away from the ${dark ? "dark" : "light"} ground`);
    await page.close();
  }
});

test("wheel, drag and keys move the axis, and it never leaves the run", async () => {
  const { page, complaints } = await open(browser, pageOf("tensors", pool));
  const [, , end] = await axis(page), box = await (await page.$("#blocks")).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  await page.mouse.wheel({ deltaY: -600 });
  const [from, to] = await axis(page);
  assert.ok(from > 0 && to < end && to - from < end / 2, "zoomed in around the pointer");
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 150, box.y + 100, { steps: 5 });
  await page.mouse.up();
  const [panned, pannedTo] = await axis(page);
  assert.ok(panned < from && Math.abs(pannedTo - panned - (to - from)) < 1e-3 * end, "dragged to the right: earlier");
  await page.keyboard.press("ArrowRight");
  assert.ok((await axis(page))[0] > panned);
  for (let i = 0; i < 60; ++i) await page.keyboard.press("-");
  assert.deepEqual(await axis(page), [0, end, end]);
  for (let i = 0; i < 80; ++i) await page.keyboard.press("+");
  const [low, high] = await axis(page);
  assert.ok(low >= 0 && high <= end && high > low);
  await page.keyboard.press("0");
  assert.deepEqual(await axis(page), [0, end, end]);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("every flame graph weighs what lives, and a bar can be opened", async () => {
  const { page, complaints } = await open(browser, pageOf("growth"));
  await page.keyboard.press("1");
  const weight = set => page.evaluate(set => { plat.flame.set = set; plat.flame.update(); return plat.flame.root.weight; }, set);
  assert.equal(await weight("peak"), 6 * 4096);
  assert.equal(await weight("all"), 6 * 4096);
  assert.equal(await weight("moment"), 6 * 4096, "the moment is that of the peak at first");
  await page.evaluate("plat.axis.choose(0)");
  assert.equal(await weight("moment"), 0);
  const kept = await page.evaluate(() => { let kept = 0; for (let i = 0; i < plat.trace.lives; ++i) if (plat.ground.inside[i] && plat.trace.life.died[i] < 0) kept += plat.trace.life.size[i]; return kept; });
  assert.equal(await weight("window"), kept);
  await page.evaluate(() => { plat.flame.byCount = true; });
  assert.equal(await weight("peak"), 6);
  const box = await (await page.$("#panel-flame canvas")).boundingBox();
  await page.mouse.click(box.x + 40, box.y + 28);
  assert.ok(await page.evaluate("plat.flame.focus !== null"));
  assert.deepEqual(complaints, []);
  await page.close();
});

test("all tabs, grounds and owners can be shown, dark and small too", async () => {
  for (const [width, dark] of [[1280, false], [400, true]]) {
    const { page, complaints } = await open(browser, pageOf("tensors", pool), { width, dark });
    for (const key of ["1", "2", "3", "4", "5"]) await page.keyboard.press(key);
    for (const ground of await page.$$eval("select[aria-label='What is shown'] option", options => options.map(option => option.value))) {
      await page.select("select[aria-label='What is shown']", ground);
      for (const way of ["stack", "pool", "kind", "device", "thread"]) await page.select("select[aria-label='By what it is stacked']", way);
    }
    await page.keyboard.press("t");
    const wide = await page.evaluate("document.documentElement.scrollWidth");
    assert.ok(wide <= width, `${wide} is wider than the window of ${width}`);
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("the map of addresses shows what lives at the moment, and leads to it", async () => {
  const { page, complaints } = await open(browser, pageOf("tensors", pool));
  await page.keyboard.press("p");
  await page.keyboard.press("2");
  await page.waitForFunction("plat.places.hits?.length > 0");
  const wrong = await page.evaluate(() => plat.places.hits.filter(({ life }) => {
    const { born, died } = plat.trace.life, at = plat.axis.moment;
    return born[life] > at || (died[life] >= 0 && died[life] <= at);
  }).length);
  assert.equal(wrong, 0, "nothing else is on the map");
  const hit = await page.evaluate(() => { const hit = plat.places.hits.at(-1), box = plat.places.canvas.getBoundingClientRect();
    scrollTo(0, box.top + scrollY + hit.y - 200); const now = plat.places.canvas.getBoundingClientRect(); return { life: hit.life, x: now.left + hit.x + 0.5, y: now.top + hit.y + 3 }; });
  await page.mouse.click(hit.x, hit.y);
  assert.equal(await page.evaluate("plat.selected"), hit.life);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("blocks of pools have the colours of their owners on the map, whatever is shown above", async () => {
  const { page } = await open(browser, pageOf("tensors", pool));
  for (const ground of ["device", "pools"]) {
    await page.select("select[aria-label='What is shown']", ground);
    await page.keyboard.press("p");
    await page.keyboard.press("2");
    await page.waitForFunction("plat.places.hits?.length > 0");
    const [owners, colours] = await page.evaluate(() => {
      const regions = [...new Set(plat.places.hits.map(({ life }) => life))].filter(life => plat.trace.kinds[plat.trace.life.kind[life]] === "region");
      return [new Set(regions.map(life => plat.trace.life.bornStack[life])).size, new Set(regions.map(life => plat.places.colourOf(life))).size];
    });
    assert.ok(owners > 1);
    assert.equal(colours, owners);
  }
  await page.close();
});

test("what a finding says begins with the finding", async () => {
  const { page } = await open(browser, pageOf("leak_device_block"));
  assert.match(await page.$eval("#panel-findings pre", element => element.textContent), /^a device block of 4 KiB/);
  await page.close();
});

test("names of streams hide no call", async () => {
  const { page } = await open(browser, pageOf("race_ping_pong"));
  const heights = await page.evaluate(() => {
    const written = [], drawn = [], note = (list, call) => function (...words) { list.push(words); return call.apply(this, words); };
    const pen = plat.timeline.canvas.getContext("2d");
    pen.fillText = note(written, pen.fillText);
    pen.fillRect = note(drawn, pen.fillRect);
    plat.timeline.drawStream(pen, plat.timeline.streams[0], 0, 800);
    return [Math.max(...written.map(([, , y]) => y)), Math.min(...drawn.map(([, y]) => y))];
  });
  assert.ok(heights[0] <= heights[1], `the name ends at ${heights[0]}, calls begin at ${heights[1]}`);
  await page.close();
});

test("two runs are compared by stack", async () => {
  const { page, complaints } = await open(browser, pageOfAll("growth", "no_growth"));
  await page.click("#tab-difference");
  const difference = await text(page, "#panel-difference");
  assert.match(difference, /-\d+ KiB/, "from the first that was named to the second");
  assert.match(difference, /growth/);
  await page.select("select[aria-label='Process']", "1");
  assert.equal(await text(page, "#panel-difference"), difference, "whichever of the two is looked at");
  assert.equal(await page.$$eval("select[aria-label='Process'] option", options => options.length), 2);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the page of a program that runs grows with it, shows its findings, and says when it has ended", async () => {
  const { program, server, address, step } = await live();
  const { page, complaints } = await open(browser, address);
  const events = await page.evaluate("plat.trace.process.events");
  await page.click("#tab-findings");
  assert.match(await text(page, "#panel-findings"), /nothing wrong so far/);
  await step("wrong");
  for (let i = 0; i < 100 && !/INSP-Access-past-end/.test(await text(page, "#panel-findings")); ++i) {
    await step("more");
    await new Promise(done => setTimeout(done, 200));
  }
  assert.match(await text(page, "#panel-findings"), /INSP-Access-past-end/);
  assert.ok(await page.evaluate("plat.trace.process.events") > events);
  await page.click("#panel-findings button.link");
  assert.ok(await page.evaluate("plat.selected") >= 0, "the finding leads to its block");
  const ended = new Promise(done => server.on("exit", done));
  program.stdin.end();
  await page.waitForFunction("/The program has ended/.test(document.querySelector('header').textContent)", { timeout: 60000 });
  assert.equal(await ended, 0);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("an answer that comes late does not undo the end of the program", async () => {
  const { program, server, address, step } = await live();
  const { page, complaints } = await open(browser, address);
  await page.evaluate(() => {
    const ask = fetch;
    globalThis.late = new Promise(done => { globalThis.letGo = done; });
    // The first answer waits, the others come at once.
    globalThis.fetch = async (...words) => { globalThis.fetch = ask; const answer = await ask(...words); globalThis.held = plat.refreshed; await late; return answer; };
  });
  const ended = new Promise(done => server.on("exit", done)), said = "/The program has ended/.test(document.querySelector('header').textContent)";
  for (let i = 0; i < 100 && !await page.evaluate("Boolean(globalThis.held)"); ++i) {
    await step("more");
    await new Promise(done => setTimeout(done, 200));
  }
  assert.ok(await page.evaluate("Boolean(held)"));
  program.stdin.end();
  await page.waitForFunction(said, { timeout: 60000 });
  await page.evaluate(async () => { letGo(); await held; });
  assert.ok(await page.evaluate(said));
  assert.equal(await ended, 0);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a picture shows the most of each column, however far out one is", async () => {
  const { page } = await open(browser, pageOf("tensors", pool));
  const [shown, peak] = await page.evaluate(() => { plat.axis.show(0, plat.axis.end); plat.drawNow(); return [plat.blocks.picture.most, plat.ground.peak]; });
  assert.equal(shown, peak);
  // The heights of a column's blocks are their sizes.
  const wrong = await page.evaluate(() => {
    const { picture } = plat.blocks, { series, trace } = plat.ground, bad = [];
    for (let x = 0; x < picture.width; x += 7) {
      const step = picture.samples[x], rows = picture.lives.subarray(x * picture.height, (x + 1) * picture.height);
      const filled = rows.filter(life => life >= 0).length, expected = step < 0 ? 0 : series.totals[step] / picture.most * picture.height;
      if (Math.abs(filled - expected) > 1) bad.push([x, filled, expected]);
      const counts = new Map();
      for (const life of rows) counts.set(life, (counts.get(life) ?? 0) + 1);
      for (const [life, count] of counts) if (life >= 0 && Math.abs(count - trace.life.size[life] / picture.most * picture.height) > 1.01) bad.push([x, life, count]);
    }
    return bad;
  });
  assert.deepEqual(wrong, []);
  await page.close();
});
