// Long history, failures and lost connections, with the mock.

import assert from "node:assert/strict";
import { MOCK, startDaemon } from "./daemon.mjs";
import { processorTime } from "./processor.mjs";
import { drawn, rested, story } from "./steps.mjs";

const s = story("failures", () =>
  startDaemon(MOCK, { MOCK_SEED: "1", MOCK_ONLINE: "1", ECHOVESSEL__SESSION__IDLE: "60s" }),
);
const { step, picture, assertAccessible } = s;

const articles = () => s.page.locator("article");
const scroller = () => s.page.getByRole("region", { name: "Conversation" });
const fromEnd = () => scroller().evaluate((e) => Math.round(e.scrollHeight - e.scrollTop - e.clientHeight));

async function say(text) {
  await s.page.getByRole("textbox").fill(text);
  await s.page.keyboard.press("Enter");
}

/** Adds a message that the stream does not announce. */
function miss(content, how) {
  return s.page.evaluate((body) => fetch("/dev/missed", { method: "POST", body }), JSON.stringify({ content, how }));
}

/** Number of rows of the conversation, rendered or not. */
const rows = () => s.page.evaluate(() => Number(document.querySelector("li[aria-setsize]")?.ariaSetSize ?? 0));
const moreRowsThan = (count) =>
  s.page.waitForFunction((before) => Number(document.querySelector("li[aria-setsize]")?.ariaSetSize) > before, count);
const atTheEnd = () =>
  s.page.waitForFunction(() => {
    const e = document.querySelector(".scroller");
    return e.scrollHeight - e.scrollTop - e.clientHeight < 2;
  });

/** Waits until the last message is a complete reply. */
const answered = () =>
  s.page.waitForFunction(() => {
    const { delivery, role } = [...document.querySelectorAll("article")].at(-1)?.dataset ?? {};
    return role === "persona" && delivery === "kept";
  });

/** The message at the top edge and its distance from it. */
const atEye = () =>
  scroller().evaluate((e) => {
    const edge = e.getBoundingClientRect().top;
    const found = [...e.querySelectorAll("article")].find((article) => article.getBoundingClientRect().bottom > edge + 20);
    return { id: found?.dataset.message, below: Math.round((found?.getBoundingClientRect().top ?? 0) - edge) };
  });

const below = (id) =>
  s.page.locator(`[data-message="${id}"]`).evaluate((article) => {
    const edge = article.closest(".scroller").getBoundingClientRect().top;
    return Math.round(article.getBoundingClientRect().top - edge);
  });

step("the newest messages are in view, older ones load on scrolling", async () => {
  await s.page.goto(s.daemon.link);
  await articles().last().waitFor();
  await s.page.locator('[data-connection="live"]').waitFor();
  await atTheEnd();
  assert.equal(await s.page.getByTestId("offline").count(), 0);
  assert.ok((await articles().count()) < 40, "only what is near the window is on the page");
  await picture("history");
  await assertAccessible("history");

  // The response is held back until the position is read.
  let letThrough;
  const known = new Promise((done) => (letThrough = done));
  await s.page.route("**/api/chat/history*", async (route) => {
    await known;
    await route.continue();
  });
  const before = await rows();
  await scroller().evaluate((e) => (e.scrollTop = 120));
  await rested(s.page);
  const eye = await atEye();
  letThrough();
  await moreRowsThan(before);
  await rested(s.page);
  const now = await below(eye.id);
  assert.ok(Math.abs(now - eye.below) <= 3, `${now} px instead of ${eye.below}: older words above must not move what is being read`);

  await s.page.unroute("**/api/chat/history*");
  await s.page.waitForFunction(() => {
    document.querySelector(".scroller").scrollTop = 0;
    return !document.querySelector(".earlier");
  });
  await scroller().evaluate((e) => (e.scrollTop = 0));
  await articles().first().waitFor();
  await picture("history-start");
});

step("new messages do not move a reader who scrolled up", async () => {
  await scroller().evaluate((e) => (e.scrollTop = 900));
  await rested(s.page);
  const eye = await atEye();
  const before = await rows();
  await miss("said on the phone", "lagged");
  await moreRowsThan(before);
  await rested(s.page);
  assert.equal(await below(eye.id), eye.below);
  await s.page.getByRole("button", { name: "Jump to latest" }).click();
  await atTheEnd();
});

step("after a broken connection the page catches up", async () => {
  await miss("said while away", "drop");
  await s.page.locator('[data-connection="lost"]').waitFor();
  await s.page.locator('[data-connection="live"]').waitFor();
  await articles().filter({ hasText: "said while away" }).waitFor();
  assert.equal(await articles().filter({ hasText: "said while away" }).count(), 1);
  s.browser.complaints.length = 0; // the browser itself reports the broken stream
});

step("a failed turn keeps the message and says so", async () => {
  await say("please fail");
  await articles().getByText("No reply.").waitFor();
  assert.equal(await s.page.locator('article[data-delivery="streaming"]').count(), 0);
  await picture("failed-turn");
  await assertAccessible("failed turn");
});

step("a failed turn can be retried", async () => {
  await articles().filter({ hasText: "please fail" }).getByRole("button", { name: "Retry" }).click();
  await articles().getByText("No reply.").waitFor({ state: "detached" });
  await answered();
});

step("a reply that is cut off is marked", async () => {
  await say("please be cut off");
  await articles().getByText("This reply was cut off.").waitFor();
});

step("a rejected message stays and can be sent again", async () => {
  await say("too fast");
  const article = articles().filter({ hasText: "too fast" });
  await article.getByText("Try again in 3 s.").waitFor();
  await picture("refused");
  await assertAccessible("refused");
  assert.equal(await article.getAttribute("data-delivery"), "unsent");
  await article.getByRole("button", { name: "Try again" }).click();
  await article.getByText("Try again in 3 s.").waitFor();
  assert.equal(await article.count(), 1);
  s.browser.complaints.length = 0; // the browser itself reports the 429
});

step("line breaks and scripts are laid out correctly", async () => {
  await say("第一行\n第二行 with English in it\n" + "word ".repeat(40) + "\n" + "x".repeat(200) + "\n「引号」“引号”——破折号……");
  await articles().filter({ hasText: "第二行" }).waitFor();
  await answered();
  await picture("shapes");
  await s.page.emulateMedia({ colorScheme: "dark" });
  await s.page.setViewportSize({ width: 375, height: 720 });
  await picture("shapes-phone");
  const overflow = await s.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(overflow <= 0, `the page is ${overflow} px too wide`);
  assert.deepEqual(s.browser.complaints, []);
});

/** A message arrives, and the reader scrolls just before it is rendered: the scroll event comes later. */
async function missWhileGoingTo(place, content) {
  await s.page.evaluate((top) => {
    globalThis.wentUp = false;
    const real = window.fetch;
    window.fetch = async (...request) => {
      const response = await real(...request);
      if (!String(request[0]?.url ?? request[0]).includes("/api/chat/history")) return response;
      window.fetch = real;
      const body = await response.json();
      response.json = async () => {
        document.querySelector(".scroller").scrollTop = top;
        globalThis.wentUp = true;
        return body;
      };
      return response;
    };
  }, place);
  const before = await rows();
  await miss(content, "lagged");
  await s.page.waitForFunction(() => globalThis.wentUp);
  await moreRowsThan(before);
  await rested(s.page);
}

step("a reader who scrolls up while a message arrives stays there", async () => {
  await s.page.setViewportSize({ width: 1180, height: 800 });
  await answered();
  const latest = s.page.getByRole("button", { name: /latest|new repl/ });
  if ((await latest.count()) > 0) await latest.click();
  await atTheEnd();
  await rested(s.page);
  await missWhileGoingTo(700, "said in that moment");
  assert.ok((await fromEnd()) > 200, "the page took the reader back to the end");
  // The same further up: the reader is not taken back.
  await missWhileGoingTo(300, "said a moment later");
  const top = await scroller().evaluate((e) => e.scrollTop);
  assert.ok(top < 500, `the page took the reader back to ${top}`);
});

step("50,000 messages stay fast", async () => {
  const start = Date.parse("2026-01-01T00:00:00Z");
  const messages = Array.from({ length: 50_000 }, (_, n) => ({
    id: `many-${n}`,
    turn_id: `turn-${n >> 1}`,
    session_id: `session-${n >> 5}`,
    source_channel_id: "web",
    role: n % 2 ? "persona" : "user",
    content: `message ${n} ` + "说了些话 ".repeat(n % 17),
    created_at: new Date(start + n * 500_000).toISOString(),
  })).reverse();
  await s.page.route("**/api/chat/history*", (route) => {
    const isFirst = !new URL(route.request().url()).searchParams.has("cursor");
    const page = isFirst ? messages.slice(0, 50) : messages.slice(50);
    return route.fulfill({ json: { messages: page, has_more: isFirst, oldest_turn_id: null, next_cursor: isFirst ? "x" : null } });
  });
  await s.page.setViewportSize({ width: 1180, height: 800 });
  await s.page.reload();
  await articles().filter({ hasText: "message 49999" }).waitFor();
  assert.ok((await articles().count()) < 40, "only what is near the window is on the page");
  await s.page.waitForFunction(() => {
    document.querySelector(".scroller").scrollTop = 0;
    return Number(document.querySelector("li[aria-setsize]")?.ariaSetSize) > 50_000;
  });
  const { tasks } = await processorTime(s.page, async () => {
    await miss("said meanwhile", "lagged");
    await s.page.evaluate(() => api("/api/chat/send", { method: "POST", body: JSON.stringify({ content: "a word" }) }));
    await s.page.getByRole("button", { name: "1 new reply" }).waitFor();
    assert.ok((await rows()) > 50_000, "who reads above keeps what they read");
    assert.match(await s.page.title(), /^\(1\) /);
    await scroller().evaluate((e) => (e.scrollTop = e.scrollHeight / 2));
    await s.page.waitForFunction(() => /message 2[0-9]{4}/.test(document.querySelector(".scroller article")?.innerText ?? ""));
    await s.page.getByRole("button", { name: "1 new reply" }).click();
    await s.page.waitForFunction(() => Number(document.querySelector("li[aria-setsize]")?.ariaSetSize) < 10_000);
    assert.doesNotMatch(await s.page.title(), /^\(/, "at the end all is read, and what is far above is let go");
  });
  const longest = Math.round(Math.max(...tasks));
  console.log(`50,000 messages: the longest of ${tasks.length} tasks while a reply streams in takes ${longest} ms of the processor`);
  // Quadratic work would take a minute.
  assert.ok(tasks.length > 0 && longest < 1_000, `a task took ${longest} ms of work`);
  await s.page.unroute("**/api/chat/history*");
});
