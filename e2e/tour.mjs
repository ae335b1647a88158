// Takes the book's pictures: one conversation, played against the real program. `npm run tour`

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openBrowser } from "./browser.mjs";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { pushDocument } from "./hub.mjs";
import { visit } from "./screens.mjs";
import { startStoryModel, STORY } from "./story_model.mjs";

const PICTURES = fileURLToPath(new URL("../docs/book/pictures/", import.meta.url));
const PERSONA = {
  display_name: "Mira",
  persona_block: "Mira is a patient, curious companion who keeps track of small things and likes dry jokes.",
  user_block: "Lives in Lisbon with a dog called Biscuit. Runs in spring.",
};

mkdirSync(PICTURES, { recursive: true });
const model = await startStoryModel();
const daemon = await startDaemon(DAEMON, { ...model.settings, ECHOVESSEL__SESSION__IDLE: "1h" });
const browser = await openBrowser({ timezoneId: "Europe/Lisbon" });
try {
  await takePictures(browser.page);
} finally {
  await browser.close();
  await daemon.stop();
  model.stop();
}

async function takePictures(page) {
  const picture = (name) => page.screenshot({ path: `${PICTURES}${name}.png` });
  const dialog = page.getByRole("dialog");
  await page.goto(daemon.link);
  await page.locator('[data-connection="live"]').waitFor();
  await call(page, "POST", "/api/admin/persona/onboarding", PERSONA);
  await page.reload();
  for (const [index, talk] of STORY.entries()) {
    for (const { says, answer } of talk) {
      await page.locator("#words").fill(says);
      await page.keyboard.press("Enter");
      await page.locator('article[data-role="persona"][data-delivery="kept"]').filter({ hasText: answer }).waitFor();
    }
    if (index < STORY.length - 1) await remember(page);
  }
  await page.mouse.move(0, 0);
  await picture("chat");

  await page.locator('article[data-role="persona"]').filter({ hasText: "It is your tradition" }).locator('[data-act="why"]').click();
  await dialog.getByTestId("used").first().waitFor();
  await picture("receipt");
  await dialog.getByText("How this reply was made").click();
  const trace = dialog.getByTestId("turn-trace");
  await trace.getByText("Language model", { exact: true }).waitFor();
  await trace.scrollIntoViewIfNeeded();
  await dialog.evaluate((element) => (element.scrollTop += 420));
  await picture("trace");

  await visit(page, daemon.url, "/memory/events");
  await page.getByRole("button", { name: /pancakes with too much lemon/ }).first().click();
  await dialog.getByText("Evidence").waitFor();
  await picture("memory");

  const visitDay = (month) => `# Plans\n\nInes visits in ${month}.\nBake the lemon cake again.`;
  await pushDocument(daemon, "laptop", "plans.md", visitDay("May"), "2026-05-02T10:00:00Z");
  await pushDocument(daemon, "phone", "plans.md", visitDay("June"), "2026-05-02T11:00:00Z");
  await visit(page, daemon.url, "/memory/conflicts");
  await page.getByTestId("conflicts").locator("li").first().waitFor();
  await picture("conflicts");

  await visit(page, daemon.url, "/insights");
  await page.getByRole("button", { name: "Ines" }).waitFor();
  await picture("graph");
  await visit(page, daemon.url, "/settings/keys");
  await page.locator("[data-setting]").first().waitFor();
  await picture("settings");
}

/** Ends the conversation and waits until it has become memory. */
async function remember(page) {
  const { sessions } = await call(page, "GET", "/api/admin/sessions?status=open");
  for (const { id } of sessions) await call(page, "POST", `/api/admin/sessions/${id}/close`, {});
  await page.waitForFunction(async () => {
    const answer = await (await api("/api/admin/sessions?limit=50")).json();
    return answer.sessions.every(({ status }) => status === "closed");
  });
  await page.locator("li.divider").last().waitFor();
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
