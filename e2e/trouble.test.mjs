// Long history, failures and lost connections, against the scripted mock.

import assert from "node:assert/strict";
import { MOCK, startDaemon } from "./daemon.mjs";
import { story } from "./steps.mjs";

const s = story("trouble", () =>
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

/** Something is said that the stream does not tell of. */
function miss(content, how) {
  return s.page.evaluate((body) => fetch("/dev/missed", { method: "POST", body }), JSON.stringify({ content, how }));
}

step("the newest words are in view, the older ones come when scrolled to", async () => {
  await s.page.goto(s.daemon.link);
  await articles().nth(49).waitFor();
  assert.ok((await fromEnd()) <= 1);
  assert.equal(await s.page.getByTestId("offline").count(), 0);
  await picture("history");
  await assertAccessible("history");
  const first = articles().first();
  const text = await first.innerText();
  await scroller().evaluate((e) => (e.scrollTop = 100));
  await articles().nth(99).waitFor();
  const before = s.page.locator("article", { hasText: text.split("\n")[1] ?? text }).first();
  await before.waitFor();
  assert.ok((await scroller().evaluate((e) => e.scrollTop)) > 500, "older words above must not move what is being read");
  await scroller().evaluate((e) => (e.scrollTop = 0));
  await articles().nth(107).waitFor();
  await s.page.getByRole("button", { name: "Earlier" }).waitFor({ state: "detached" });
  await picture("history-start");
});

step("what comes in while reading above does not pull one down", async () => {
  const place = await scroller().evaluate((e) => (e.scrollTop = 900));
  await miss("said on the phone", "lagged");
  await articles().filter({ hasText: "said on the phone" }).waitFor();
  assert.equal(await scroller().evaluate((e) => e.scrollTop), place);
  await s.page.getByRole("button", { name: "Latest" }).click();
  await s.page.waitForFunction(() => {
    const e = document.querySelector(".scroller");
    return e.scrollHeight - e.scrollTop - e.clientHeight < 2;
  });
});

step("after a broken connection the page catches up", async () => {
  await miss("said while away", "drop");
  await s.page.locator('[data-connection="lost"]').waitFor();
  await s.page.locator('[data-connection="live"]').waitFor({ timeout: 15_000 });
  await articles().filter({ hasText: "said while away" }).waitFor();
  assert.equal(await articles().filter({ hasText: "said while away" }).count(), 1);
  s.browser.complaints.length = 0; // the browser itself reports the broken stream
});

step("a turn that fails leaves one's words and says so", async () => {
  await say("please fail");
  await articles().getByText("No reply came.").waitFor();
  assert.equal(await s.page.locator('article[data-delivery="streaming"]').count(), 0);
  await picture("failed-turn");
  await assertAccessible("failed turn");
});

step("a failed turn can be asked again", async () => {
  await articles().filter({ hasText: "please fail" }).getByRole("button", { name: "Ask again" }).click();
  await articles().getByText("No reply came.").waitFor({ state: "detached" });
  await s.page.locator('article[data-delivery="kept"][data-role="persona"]').last().waitFor();
});

step("a reply that breaks off is marked", async () => {
  await say("please be cut off");
  await articles().getByText("The reply broke off here.").waitFor();
});

step("a refused message waits and can be sent again", async () => {
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

step("lines and scripts of all sorts keep their shape", async () => {
  await say("第一行\n第二行 with English in it\n" + "word ".repeat(40) + "\n" + "x".repeat(200) + "\n「引号」“引号”——破折号……");
  await articles().filter({ hasText: "第二行" }).waitFor();
  await s.page.locator('article[data-delivery="kept"][data-role="persona"]').last().waitFor();
  await picture("shapes");
  await s.page.emulateMedia({ colorScheme: "dark" });
  await s.page.setViewportSize({ width: 375, height: 720 });
  await picture("shapes-phone");
  const overflow = await s.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(overflow <= 0, `the page is ${overflow} px too wide`);
  assert.deepEqual(s.browser.complaints, []);
});
