// A talk of years: 50,000 messages, scrolled through to the first one. What stands in the page stays bounded, and so does
// the time of a frame.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { startModel } from "./model.mjs";
import { processorTime, slowness } from "./processor.mjs";
import { drawn, rested, story } from "./steps.mjs";

const MESSAGES = 50_000;
const WRITER = fileURLToPath(new URL(process.env.LONG_TALK_BIN ?? "../target/debug/examples/long_talk", import.meta.url));
/** Turns of the wheel, and the most until earlier messages load on the slowest machine. */
const TURNS = 150;
const TURNS_MAX = 2_000;
/** Elements of the whole document, including the timeline. */
const ELEMENTS_MAX = 2_500;
/** The page's own work for one frame, on average, and for one task, in processor time of a calm machine. */
const WORK_MS_MAX = 40;
const TASK_MS_MAX = 200;
/** Processor time of a calm machine until the last message is shown. */
const OPENING_MS_MAX = 600;

let model;
let slow;
const s = story("long_talk", async () => {
  if (!existsSync(WRITER)) throw new Error(`${WRITER} is missing: build it first (cargo build -p store --example long_talk).`);
  const began = Date.now();
  model = await startModel({ firstTokenMs: 50, betweenTokensMs: 20 });
  const daemon = await startDaemon(DAEMON, model.settings, (home) => {
    execFileSync(WRITER, [join(home, "echovessel.db"), `${MESSAGES}`]);
    console.log(`a talk of ${MESSAGES} messages was made in ${((Date.now() - began) / 1000).toFixed(1)} s`);
  });
  const stop = daemon.stop;
  daemon.stop = async () => {
    await stop();
    model.stop();
  };
  return daemon;
});
const { step, picture } = s;

/**
 * The work while something is done that makes a calm machine draw as many frames as `expected`, and what stands in the page
 * after it. (A busy machine draws fewer of them, and does the work of several in one.)
 */
async function frames(what, expected, act) {
  const { tasks, frames: all } = await processorTime(s.page, act);
  const elements = await s.page.evaluate(() => document.getElementsByTagName("*").length);
  const sorted = all.toSorted((a, b) => a - b);
  const [middle, most] = [0.5, 0.95].map((share) => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1));
  const [each, longest] = [sum(tasks) / expected, Math.max(...tasks)];
  console.log(
    `${what}: ${all.length} frames, p50 ${middle} ms, p95 ${most} ms of work; ${each.toFixed(1)} ms for each of ${expected}, ` +
      `the longest task ${longest.toFixed(1)} ms; ${elements} elements`,
  );
  assert.ok(all.length > 0, `${what}: no frame was seen`);
  assert.ok(elements <= ELEMENTS_MAX, `${what}: ${elements} elements stand in the page`);
  slow ??= await slowness(s.page.context());
  assert.ok(longest <= TASK_MS_MAX * slow, `${what}: one task takes ${longest} ms of work`);
  assert.ok(each <= WORK_MS_MAX * slow, `${what}: the page works ${each.toFixed(1)} ms for a frame`);
}

const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);
const scroller = () => s.page.locator(".scroller");
const rows = () => s.page.locator("ol li[aria-setsize]");
const held = async () => Number(await rows().first().getAttribute("aria-setsize"));

step("a long conversation opens at its end as fast as a short one", async () => {
  const { tasks } = await processorTime(s.page, async () => {
    await s.page.goto(s.daemon.link);
    await s.page.locator('article[data-role="persona"]').last().waitFor();
  });
  const [ready, worked] = [await s.page.evaluate(() => Math.round(performance.now())), Math.round(sum(tasks))];
  console.log(`the last words stand there after ${ready} ms, of which the page worked ${worked} ms`);
  slow ??= await slowness(s.page.context());
  assert.ok(worked > 0 && worked < OPENING_MS_MAX * slow, `${worked} ms of work`);
  assert.match(await s.page.locator("article").last().innerText(), new RegExp(`\\(${MESSAGES / 2 - 1}\\)`));
  await picture("end");
});

step("the wheel scrolls back", async () => {
  await scroller().hover();
  await frames("by the wheel", TURNS, async () => {
    for (let turn = 0; turn < TURNS || (turn < TURNS_MAX && (await held()) <= 200); turn++) {
      await s.page.mouse.wheel(0, -600);
      await drawn(s.page);
    }
  });
  assert.ok((await held()) > 200, "earlier messages came in");
});

step("the first of 50,000 messages can be reached", async () => {
  await frames("to the first message", 800, async () => {
    await s.page.evaluate(async () => {
      const scroller = document.querySelector(".scroller");
      const began = performance.now();
      const isDone = () => !document.querySelector(".earlier") && scroller.scrollTop < 10;
      while (!isDone() && performance.now() - began < 900_000) {
        scroller.scrollTop = 0;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      globalThis.took = performance.now() - began;
    });
  });
  console.log(`it took ${((await s.page.evaluate(() => globalThis.took)) / 1000).toFixed(1)} s`);
  assert.match(await s.page.locator("article").first().innerText(), /\(0\)/);
  assert.ok((await held()) >= MESSAGES, `${await held()} rows`);
  await picture("beginning");
});

step("scrolling passes through rows that were never measured", async () => {
  await frames("through 50,000", 120, async () => {
    await s.page.evaluate(async () => {
      const scroller = document.querySelector(".scroller");
      const steps = 120;
      for (let step = 1; step <= steps; step++) {
        scroller.scrollTop = (scroller.scrollHeight * step) / (steps + 5);
        await new Promise(requestAnimationFrame);
      }
    });
  });
  assert.ok((await rows().count()) < 60, "few rows stand in the page");
});

step("a streaming reply does not move a reader far up", async () => {
  await s.page.evaluate(() => (document.querySelector(".scroller").scrollTop = document.querySelector(".scroller").scrollHeight / 2));
  // Waits until the rows are measured.
  await rested(s.page);
  const middle = () =>
    s.page.evaluate(() => {
      const { top, height } = document.querySelector(".scroller").getBoundingClientRect();
      const row = document.elementFromPoint(innerWidth / 3, top + height / 2)?.closest("li");
      return row && { text: row.innerText, at: Math.round(row.getBoundingClientRect().top) };
    });
  const before = await middle();
  await frames("while a reply streams in", 40, async () => {
    await s.page.evaluate(() =>
      api("/api/chat/send", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ content: "one two three four five six seven eight nine ten ".repeat(8) }),
      }),
    );
    await s.page.getByRole("button", { name: "1 new reply" }).waitFor();
  });
  assert.deepEqual(await middle(), before);
});

step("back at the end, older messages are released", async () => {
  await s.page.getByRole("button", { name: "1 new reply" }).click();
  await s.page.waitForFunction(() => Number(document.querySelector("ol li[aria-setsize]")?.ariaSetSize) < 5_000);
  await s.page.locator("article").filter({ hasText: "I heard you say" }).last().waitFor();
});
