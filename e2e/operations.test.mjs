// Operations: failing models, traces and conflicts.

import assert from "node:assert/strict";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { pushDocument } from "./hub.mjs";
import { startModel } from "./model.mjs";
import { visit } from "./screens.mjs";
import { story } from "./steps.mjs";

let model;
const s = story("operations", async () => {
  model = await startModel({ firstTokenMs: 60, betweenTokensMs: 5 });
  const daemon = await startDaemon(DAEMON, {
    ...model.settings,
    ECHOVESSEL__LLM__MAX_RETRIES: "0",
    ECHOVESSEL__CONSOLIDATE__MAX_RETRIES: "0",
    // The test ends sessions itself, so that none is consolidated while the model fails.
    ECHOVESSEL__SESSION__IDLE: "1h",
  });
  const stop = daemon.stop;
  daemon.stop = async () => {
    await stop();
    model.stop();
  };
  return daemon;
});
const { step, picture, assertAccessible, clearNotices } = s;

const replies = () => s.page.locator('article[data-role="persona"][data-delivery="kept"]');
const dialog = () => s.page.getByRole("dialog");
const notice = (text) => s.page.getByTestId("toasts").getByText(text);
const button = (name, within = s.page) => within.getByRole("button", { name, exact: true });
const screen = (name) => s.page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name }).click();
const tab = (name) => s.page.locator("main").getByRole("link", { name }).click();

async function say(text) {
  await s.page.locator("#words").fill(text);
  await s.page.keyboard.press("Enter");
}

step("a failing model leaves a failed turn, and a retry brings the reply", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  model.fail(true);
  await say("My sister Ines moved to Porto for her new job last week, and I already miss our Sunday breakfasts a lot.");
  const failed = s.page.locator("article").filter({ hasText: "Ines moved" });
  await failed.getByText("No reply.").waitFor();
  await picture("failed-turn");
  await assertAccessible("a failed turn");
  await button("Retry", failed).click();
  await s.page.waitForFunction(() => !document.querySelector('article[data-delivery="streaming"]'));
  await failed.getByText("No reply.").waitFor();
  await s.page.reload();
  await failed.getByText("No reply.").waitFor();
  model.fail(false);
  await button("Retry", failed).click();
  await replies().filter({ hasText: "Ines moved" }).waitFor();
  await failed.getByText("No reply.").waitFor({ state: "detached" });
  assert.equal(await replies().count(), 1);
});

step("a failed reply is listed under Work", async () => {
  model.fail(true);
  await say("Nobody hears this at first.");
  await s.page.locator("article").filter({ hasText: "Nobody hears" }).getByText("No reply.").waitFor();
  await screen("Settings");
  await tab("Work");
  const waiting = s.page.getByTestId("failed-turns").locator("li");
  await waiting.getByText("told to fail").waitFor();
  await picture("failed-reply");
  await assertAccessible("a reply that did not come");
  model.fail(false);
  await button("Retry", waiting).click();
  await waiting.waitFor({ state: "detached" });
  await screen("Chat");
  await replies().filter({ hasText: "Nobody hears" }).waitFor();
});

step("a failed consolidation is listed and succeeds on retry", async () => {
  await say("This spring we planted forty tomato seedlings behind the house, and my father laughed at me the whole time.");
  await replies().filter({ hasText: "forty tomato" }).waitFor();
  await screen("Settings");
  await tab("Work");
  model.fail(true);
  const failure = notice(/could not be turned into memory/).waitFor();
  await Promise.all([failure, button("End now", s.page.getByTestId("sessions")).click()]);
  await s.page.getByLabel("Status").selectOption("failed");
  const failed = s.page.getByTestId("sessions").locator("li");
  await failed.getByText("told to fail").waitFor();
  assert.equal(await failed.count(), 1);
  await picture("failed-session");
  await assertAccessible("a failed session");
  model.fail(false);
  await button("Try again", failed).click();
  await notice("Retrying.").waitFor();
  await failed.waitFor({ state: "detached" });
  await screen("Chat");
  const events = s.page.getByTestId("timeline").locator('li[data-kind="event"]');
  await events.filter({ hasText: "forty tomato" }).waitFor();
});

step("a reply's trace shows steps, times, recalled memories and prompts", async () => {
  await say("Do you remember the tomato seedlings?");
  await replies().filter({ hasText: "Do you remember" }).waitFor();
  await replies().last().locator('[data-act="why"]').click();
  await dialog().getByText("How this reply was created").click();
  const trace = dialog().getByTestId("turn-trace");
  await trace.getByText("Language model", { exact: true }).waitFor();
  await trace.getByText(/first word after/).first().waitFor();
  await trace.getByText(/considered, \d+ used/).waitFor();
  await trace.locator("li").filter({ hasText: "has the same words" }).first().waitFor();
  assert.ok((await trace.locator("ol > li").count()) >= 10, "every step has its line");
  await clearNotices();
  await trace.scrollIntoViewIfNeeded();
  await picture("turn-trace");
  await trace.getByText(/^Conversation prompt · [\d,]+ characters$/).click();
  const prompt = trace.getByRole("group", { name: "Conversation prompt" });
  assert.match(await prompt.innerText(), /Do you remember the tomato seedlings/);
  await assertAccessible("a turn's trace");
  await prompt.scrollIntoViewIfNeeded();
  await picture("turn-trace-prompt");
  await s.page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
});

step("traces of replies, consolidations and slow cycles are shown", async () => {
  await s.page.waitForFunction(async () => (await (await api("/api/admin/slow-tick/transcripts")).json()).items.length > 0);
  await screen("Settings");
  await tab("Traces");
  const turns = s.page.getByTestId("turns").locator("li");
  await turns.first().waitFor();
  await picture("traces");
  await assertAccessible("traces");
  await turns.first().getByRole("button").click();
  await dialog().getByTestId("turn-trace").getByText("Language model", { exact: true }).waitFor();
  await s.page.keyboard.press("Escape");
  await s.page.getByTestId("cycles").locator("li").first().getByRole("button").click();
  await dialog().getByTestId("transcript").getByText("recent_events").waitFor();
  await picture("transcript");
  await assertAccessible("a transcript");
  await s.page.keyboard.press("Escape");
  await tab("Work");
  const talk = s.page.getByTestId("sessions").locator("li").filter({ hasText: "They talked" }).first();
  await button("How the memories were created", talk).click();
  const trace = dialog().getByTestId("session-trace");
  await trace.getByText("What happened").click();
  await trace.getByText("events_created", { exact: true }).waitFor();
  await trace.getByText(/^extraction · scripted · ok/).waitFor();
  await picture("session-trace");
  await assertAccessible("a session's trace");
  await s.page.keyboard.press("Escape");
});

const conflict = (filename) => s.page.getByTestId("conflicts").locator("li").filter({ hasText: filename });

async function disagree(filename, left, right) {
  await pushDocument(s.daemon, "laptop", filename, left, "2026-05-02T10:00:00Z");
  await pushDocument(s.daemon, "phone", filename, right, "2026-05-02T11:00:00Z");
}

const written = (filename) =>
  s.page.evaluate((name) => api(`/api/hub/documents/custom/${name}`).then((answer) => answer.json()), filename);

step("concurrent versions are counted and shown side by side", async () => {
  await disagree("garden.md", "# Garden\nTomatoes by the wall.\nRoses.", "# Garden\nBeans by the wall.\nRoses.");
  await disagree("tea.md", "早上喝茶。", "早上喝咖啡。");
  // Announced by the server, without a reload.
  await s.page.getByTestId("conflict-count").getByText("2", { exact: true }).waitFor();
  await screen("Memory");
  await tab("Documents");
  const mark = s.page.locator('[data-document="custom/garden.md"]').getByRole("link", { name: "two versions to resolve" });
  await mark.waitFor();
  await assertAccessible("a document in conflict");
  await mark.click();
  const garden = conflict("garden.md");
  await garden.getByText("Beans by the wall.").waitFor();
  assert.deepEqual(await garden.locator("mark").allInnerTexts(), ["Beans by the wall.", "Tomatoes by the wall."]);
  const [left, right] = await garden.locator("section").all();
  const [a, b] = [await left.boundingBox(), await right.boundingBox()];
  assert.ok(a.y === b.y && a.x < b.x, "side by side");
  await picture("conflicts");
  await assertAccessible("conflicts");
});

step("a conflict is resolved by one version or a merge", async () => {
  await conflict("garden.md").locator("section").nth(1).getByRole("button", { name: /^Use this version/ }).click();
  await notice("Conflict resolved.").first().waitFor();
  await conflict("garden.md").waitFor({ state: "detached" });
  await s.page.getByTestId("conflict-count").getByText("1", { exact: true }).waitFor();
  assert.match((await written("garden.md")).content, /Tomatoes by the wall/);

  const tea = conflict("tea.md");
  await button("Combine both…", tea).click();
  const merged = tea.getByLabel("Combined text");
  assert.match(await merged.inputValue(), /早上喝咖啡。\n早上喝茶。|早上喝茶。\n早上喝咖啡。/);
  await picture("conflict-merged");
  await assertAccessible("merging");
  await merged.fill("早上喝茶,下午喝咖啡。");
  await button("Use this text", tea).click();
  await s.page.getByText("No conflicts to resolve.").waitFor();
  await s.page.getByTestId("conflict-count").waitFor({ state: "detached" });
  assert.equal((await written("tea.md")).content.trim(), "早上喝茶,下午喝咖啡。");
  await s.page.getByLabel("Show resolved conflicts").check();
  await conflict("tea.md").getByText("Resolved: both were combined.").waitFor();
  assert.equal(await s.page.getByTestId("conflicts").getByRole("button").count(), 0, "what is decided is not asked again");
});

step("on a phone the versions are shown below each other, in Chinese too", async () => {
  await s.page.setViewportSize({ width: 360, height: 740 });
  await s.page.getByRole("button", { name: "中文" }).click();
  await s.page.getByText("已解决：合并了两个版本。").waitFor();
  const over = await s.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(over <= 0, `${over} px too wide`);
  await picture("conflicts-phone");
  await visit(s.page, s.daemon.url, "/settings/traces");
  await s.page.getByTestId("turns").locator("li").first().getByRole("button").click();
  await dialog().getByText("语言模型", { exact: true }).waitFor();
  await picture("turn-trace-phone");
  await assertAccessible("a trace on a phone, Chinese");
  assert.deepEqual(s.browser.complaints, []);
});
