// Takes the pictures of the README and the book: a life over weeks in each language, against the real program. `make pictures`

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openBrowser } from "./browser.mjs";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { pushDocument } from "./hub.mjs";
import { visit } from "./screens.mjs";
import { chatGptExport, STORIES } from "./stories.mjs";
import { startStoryModel } from "./story_model.mjs";

const PICTURES = fileURLToPath(new URL("../docs/book/pictures/", import.meta.url));

await take("en", PICTURES);
await take("zh", `${PICTURES}zh/`);

/** Lives a story to its present day in a home of its own, and takes its pictures. */
async function take(language, folder) {
  const story = STORIES[language];
  mkdirSync(folder, { recursive: true });
  const model = await startStoryModel(story);
  const daemon = await startDaemon(DAEMON, { ...model.settings, ECHOVESSEL__SESSION__IDLE: "1h" });
  const browser = await openBrowser({ timezoneId: language === "zh" ? "Asia/Shanghai" : "Europe/Lisbon", locale: story.locale });
  try {
    await takePictures(browser.page, { daemon, story, folder, isWhole: language === "en" });
  } finally {
    await browser.close();
    await daemon.stop();
    model.stop();
  }
}

async function takePictures(page, { daemon, story, folder, isWhole }) {
  const picture = (name) => page.screenshot({ path: `${folder}${name}.png` });
  const dialog = page.getByRole("dialog");
  await page.goto(daemon.link);
  await page.locator('[data-connection="live"]').waitFor();
  await call(page, "POST", "/api/admin/persona/onboarding", story.persona);
  await importPast(page, story);
  await page.reload();
  for (const { says, answer } of story.today) {
    await page.locator("#words").fill(says);
    await page.keyboard.press("Enter");
    await page.locator('article[data-role="persona"][data-delivery="kept"]').filter({ hasText: answer }).waitFor();
  }
  await page.mouse.move(0, 0);
  await picture("chat");

  await page.locator('article[data-role="persona"]').filter({ hasText: story.recalling }).locator('[data-act="why"]').click();
  await dialog.getByTestId("used").first().waitFor();
  await picture("receipt");
  if (isWhole) {
    await dialog.getByText("How this reply was created").click();
    const trace = dialog.getByTestId("turn-trace");
    await trace.getByText("Language model", { exact: true }).waitFor();
    await trace.scrollIntoViewIfNeeded();
    await dialog.evaluate((element) => (element.scrollTop += 420));
    await picture("trace");
  }

  await visit(page, daemon.url, "/memory/events");
  await page.getByRole("button", { name: story.remembered }).first().click();
  await dialog.getByText(story.evidence).waitFor();
  await picture("memory");
  await visit(page, daemon.url, "/insights");
  await page.getByRole("button", { name: story.person }).waitFor();
  await picture("graph");
  if (!isWhole) return;

  const visitDay = (month) => `# Plans\n\nInes visits in ${month}.\nBake the lemon cake again.`;
  await pushDocument(daemon, "laptop", "plans.md", visitDay("May"), "2026-05-02T10:00:00Z");
  await pushDocument(daemon, "phone", "plans.md", visitDay("June"), "2026-05-02T11:00:00Z");
  await visit(page, daemon.url, "/memory/conflicts");
  await page.getByTestId("conflicts").locator("li").first().waitFor();
  await picture("conflicts");
  await visit(page, daemon.url, "/settings/keys");
  await page.locator("[data-setting]").first().waitFor();
  await picture("settings");
}

/** Brings the weeks before today as an export of ChatGPT, and waits until they are memory. */
async function importPast(page, story) {
  await page.evaluate(async (text) => {
    const form = new FormData();
    form.append("file", new File([text], "conversations.json", { type: "application/json" }));
    const ask = async (path, options) => {
      const response = await api(path, options);
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return response.json();
    };
    const { run_id: id } = await ask("/api/admin/imports", { method: "POST", body: form });
    const start = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ remember: true }) };
    await ask(`/api/admin/imports/${id}/start`, start);
    for (;;) {
      const { state, problem } = await ask(`/api/admin/imports/${id}`);
      if (state === "done") return;
      if (problem) throw new Error(`the import ended as ${state}: ${problem}`);
      await new Promise((next) => setTimeout(next, 200));
    }
  }, chatGptExport(story, Date.now()));
}

function call(page, method, path, body) {
  return page.evaluate(
    async ([how, where, what]) => {
      const response = await api(where, {
        method: how,
        headers: { "Content-Type": "application/json" },
        body: what && JSON.stringify(what),
      });
      if (!response.ok) throw new Error(`${how} ${where}: ${response.status} ${await response.text()}`);
      return response.json();
    },
    [method, path, body],
  );
}
