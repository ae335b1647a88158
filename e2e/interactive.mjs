// Measures when the page becomes usable, on a slow processor and without a cache.

import { openBrowser } from "./browser.mjs";

const TRIES = 3;

/**
 * `{ waited, worked }` of the best of three loads. `waited`: milliseconds from the navigation until words can be typed and
 * nothing holds the page up any more, on a processor of 1/`slowdown` the speed. `worked`: milliseconds of processor time
 * that the page's thread took meanwhile at full speed, which is the same however busy the machine is. `login` is the storage of
 * a context that is logged in.
 */
export async function interactiveAfter(url, login, slowdown) {
  const best = { waited: Number.POSITIVE_INFINITY, worked: Number.POSITIVE_INFINITY };
  for (let tries = 0; tries < TRIES; tries++) {
    best.waited = Math.min(best.waited, (await load(url, login, slowdown)).waited);
    best.worked = Math.min(best.worked, (await load(url, login, 1)).worked);
  }
  return best;
}

async function load(url, login, slowdown) {
  const browser = await openBrowser();
  await browser.context.addCookies(login.cookies);
  await browser.page.addInitScript((items) => {
    for (const { name, value } of items) localStorage.setItem(name, value);
  }, login.origins.flatMap(({ localStorage }) => localStorage));
  await browser.page.addInitScript(watch);
  const session = await browser.context.newCDPSession(browser.page);
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await browser.page.goto(url);
  await browser.page.locator('[data-connection="live"]').waitFor();
  const waited = await browser.page.evaluate(async () => {
    // Long tasks within the first second count as loading.
    await new Promise((done) => setTimeout(done, 1_000));
    return Math.round(Math.max(globalThis.usable, globalThis.lastLong));
  });
  const { metrics } = await session.send("Performance.getMetrics");
  const worked = Math.round(metrics.find(({ name }) => name === "TaskDuration").value * 1_000);
  await browser.close();
  return { waited, worked };
}

/** Runs in the page before its scripts. */
function watch() {
  globalThis.usable = Number.POSITIVE_INFINITY;
  globalThis.lastLong = 0;
  new MutationObserver((_, observer) => {
    if (!document.querySelector("#words")) return;
    globalThis.usable = performance.now();
    observer.disconnect();
  }).observe(document, { subtree: true, childList: true });
  // A task over 50 ms delays typing.
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) globalThis.lastLong = task.startTime + task.duration;
  }).observe({ type: "longtask", buffered: true });
}
