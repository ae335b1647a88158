// A talk of years: 50,000 messages, scrolled through to the first one. What stands in the page stays bounded, and so does
// the time of a frame.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { startModel } from "./model.mjs";
import { story } from "./steps.mjs";

const MESSAGES = 50_000;
const WRITER = fileURLToPath(new URL(process.env.LONG_TALK_BIN ?? "../target/debug/examples/long_talk", import.meta.url));
/** Elements of the whole document, the timeline beside the talk included. */
const ELEMENTS_MAX = 2_500;
/** The page's own work for one frame, on average: processor time, so that a busy machine changes little. */
const WORK_MS_MAX = 40;
/** What one sees, on a machine that does much else meanwhile; a calm one stays far below. */
const FRAME_MS_P95_MAX = 500;

let model;
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

let metrics;
/** Milliseconds of processor time that the page's main thread has worked. */
async function work() {
  if (!metrics) {
    metrics = await s.browser.context.newCDPSession(s.page);
    await metrics.send("Performance.enable", { timeDomain: "threadTicks" });
  }
  const { metrics: all } = await metrics.send("Performance.getMetrics");
  return all.find(({ name }) => name === "TaskDuration").value * 1_000;
}

/** The frames while something is done, in milliseconds, and what stands in the page after it. */
async function frames(what, act) {
  await s.page.evaluate(() => {
    globalThis.frames = [];
    let before = performance.now();
    const look = (now) => {
      globalThis.frames?.push(now - before);
      before = now;
      if (globalThis.frames) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  const before = await work();
  await act();
  const worked = (await work()) - before;
  const { times, elements } = await s.page.evaluate(() => {
    const times = globalThis.frames;
    globalThis.frames = null;
    return { times, elements: document.getElementsByTagName("*").length };
  });
  const sorted = times.slice(2).sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const [middle, most, longest] = [at(0.5), at(0.95), at(1)].map((ms) => Math.round(ms));
  const each = worked / sorted.length;
  console.log(
    `${what}: ${sorted.length} frames, p50 ${middle} ms, p95 ${most} ms, longest ${longest} ms, ` +
      `${each.toFixed(1)} ms of work each; ${elements} elements`,
  );
  assert.ok(sorted.length > 20, `${what}: only ${sorted.length} frames were seen`);
  assert.ok(elements <= ELEMENTS_MAX, `${what}: ${elements} elements stand in the page`);
  assert.ok(most <= FRAME_MS_P95_MAX, `${what}: one frame in twenty takes ${most} ms`);
  assert.ok(each <= WORK_MS_MAX, `${what}: the page works ${each.toFixed(1)} ms for a frame`);
}

const scroller = () => s.page.locator(".scroller");
const rows = () => s.page.locator("ol li[aria-setsize]");
const held = async () => Number(await rows().first().getAttribute("aria-setsize"));

step("it opens at the end as fast as a short one", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.locator('article[data-role="persona"]').last().waitFor();
  const ready = await s.page.evaluate(() => Math.round(performance.now()));
  console.log(`the last words stand there after ${ready} ms`);
  assert.ok(ready < 5_000);
  assert.match(await s.page.locator("article").last().innerText(), new RegExp(`\\(${MESSAGES / 2 - 1}\\)`));
  await picture("end");
});

step("scrolling back by the wheel", async () => {
  await scroller().hover();
  await frames("by the wheel", async () => {
    for (let turn = 0; turn < 150; turn++) {
      await s.page.mouse.wheel(0, -600);
      await s.page.waitForTimeout(16);
    }
  });
  assert.ok((await held()) > 200, "earlier messages came in");
});

step("back to the very first message, all 50,000 held", async () => {
  await frames("to the first message", async () => {
    await s.page.evaluate(async () => {
      const scroller = document.querySelector(".scroller");
      const began = performance.now();
      const isDone = () => !document.querySelector(".earlier") && scroller.scrollTop < 10;
      while (!isDone() && performance.now() - began < 180_000) {
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

step("through all of it, also where rows were never measured", async () => {
  await frames("through 50,000", async () => {
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

step("a reply that streams in while one reads far up moves nothing", async () => {
  await s.page.evaluate(() => (document.querySelector(".scroller").scrollTop = document.querySelector(".scroller").scrollHeight / 2));
  await s.page.waitForTimeout(300);
  const middle = () =>
    s.page.evaluate(() => {
      const { top, height } = document.querySelector(".scroller").getBoundingClientRect();
      const row = document.elementFromPoint(innerWidth / 3, top + height / 2)?.closest("li");
      return row && { text: row.innerText, at: Math.round(row.getBoundingClientRect().top) };
    });
  const before = await middle();
  await frames("while a reply streams in", async () => {
    await s.page.evaluate(() =>
      fetch("/api/chat/send", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ content: "one two three four five six seven eight nine ten ".repeat(8) }),
      }),
    );
    await s.page.getByRole("button", { name: "1 new reply" }).waitFor();
  });
  assert.deepEqual(await middle(), before);
});

step("back at the end, most of it is let go", async () => {
  await s.page.getByRole("button", { name: "1 new reply" }).click();
  await s.page.waitForFunction(() => Number(document.querySelector("ol li[aria-setsize]")?.ariaSetSize) < 5_000);
  await s.page.locator("article").filter({ hasText: "I heard you say" }).last().waitFor();
});
