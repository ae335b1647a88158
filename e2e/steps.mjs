// Dependent steps of one test; a failure reports the state of page and daemon.

import { mkdirSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { openBrowser, violations } from "./browser.mjs";

/** Waits until the page has drawn its current state. */
export const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Waits until the conversation stops moving and growing. */
export const rested = (page) =>
  page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const stands = () => {
      const { scrollTop, scrollHeight } = document.querySelector(".scroller");
      return `${scrollTop} ${scrollHeight}`;
    };
    for (let still = 0, before = ""; still < 10; before = stands()) {
      await frame();
      still = stands() === before ? still + 1 : 0;
    }
  });

/** Starts daemon and browser before the steps and stops them after; pictures go to results/<name>/. */
export function story(name, start, browserOptions = {}) {
  const results = fileURLToPath(new URL(`results/${name}/`, import.meta.url));
  const s = { daemon: null, browser: null, page: null, step, picture, looks, assertAccessible, clearNotices };
  let broken = false;

  before(async () => {
    rmSync(results, { recursive: true, force: true });
    mkdirSync(results, { recursive: true });
    s.daemon = await start();
    s.browser = await openBrowser(browserOptions);
    s.page = s.browser.page;
  });

  after(async () => {
    await s.browser?.close();
    await s.daemon?.stop();
    console.log(`pictures: ${results}`);
  });

  /** After a failed step the rest are skipped. */
  function step(title, run) {
    test(title, async (t) => {
      if (broken) return t.skip("an earlier step failed");
      try {
        await run();
      } catch (error) {
        broken = true;
        await report(title, error);
        throw error;
      }
    });
  }

  async function report(title, error) {
    await s.page.screenshot({ path: `${results}failed.png` }).catch(() => undefined);
    const seen = await s.page.evaluate(() => document.body.innerText).catch((reason) => `(no page: ${reason})`);
    const lines = [
      `=== "${title}" failed: ${error.message}`,
      `picture: ${results}failed.png`,
      `address: ${s.page.url()}`,
      "--- the page reads",
      seen,
      "--- the page's console",
      ...s.browser.complaints,
      "--- requests, last 15",
      ...s.browser.requests.slice(-15),
      "--- the daemon",
      s.daemon.log(),
    ];
    console.error(lines.join("\n"));
  }

  async function picture(title) {
    await s.page.screenshot({ path: `${results}${title}.png` });
  }

  /** Checks the current view in light on a desktop and in dark on a phone of 360 pixels: no overflow, no axe violations. */
  async function looks(title) {
    const desk = s.page.viewportSize();
    const wear = (theme) => s.page.evaluate((name) => void (document.documentElement.dataset.theme = name), theme);
    await wear("light");
    await picture(`${title}-light`);
    await assertAccessible(`${title}, light`);
    await wear("dark");
    await s.page.setViewportSize({ width: 360, height: 740 });
    await picture(`${title}-dark-phone`);
    const over = await s.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${title} is ${over} px too wide`);
    await assertAccessible(`${title}, dark, phone`);
    await s.page.setViewportSize(desk);
    await wear("light");
  }

  /** Dismisses toasts before a picture. */
  async function clearNotices() {
    const said = s.page.getByTestId("toasts").getByRole("button", { name: "Dismiss" });
    // A toast may expire just before the click.
    while ((await said.count()) > 0) await said.first().click({ timeout: 1_000 }).catch(() => undefined);
  }

  async function assertAccessible(where) {
    const found = await violations(s.page);
    assert.deepEqual(found, [], `axe, ${where}:\n${found.join("\n")}`);
  }

  return s;
}
