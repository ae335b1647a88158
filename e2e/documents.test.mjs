// Documents and their versions, and the diary's summaries.

import assert from "node:assert/strict";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { startModel } from "./model.mjs";
import { visit } from "./screens.mjs";
import { story } from "./steps.mjs";

let model;
const s = story("documents", async () => {
  model = await startModel({ firstTokenMs: 400 });
  const daemon = await startDaemon(DAEMON, model.settings);
  const stop = daemon.stop;
  daemon.stop = async () => {
    await stop();
    model.stop();
  };
  return daemon;
});
const { step, looks } = s;

const dialog = () => s.page.getByRole("dialog");
const notice = (text) => s.page.getByTestId("toasts").getByText(text);
const button = (name, within = s.page) => within.getByRole("button", { name, exact: true });
const focused = () => s.page.evaluate(() => document.activeElement?.textContent?.trim());
const row = (name) => s.page.locator(`[data-document="${name}"]`);
const undo = () => s.page.getByTestId("toasts").getByRole("button", { name: "Undo" }).last().click();

/** Writes a document as another client would. */
async function write(name, content) {
  const status = await s.page.evaluate(
    async ([path, text]) =>
      (
        await api(`/api/hub/documents/${path}`, {
          method: "PUT",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ content: text }),
        })
      ).status,
    [name, content],
  );
  assert.equal(status, 200, name);
}

step("a document is created, and its name is unique", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  await visit(s.page, s.daemon.url, "/memory/documents");
  await s.page.getByText("No documents yet.").waitFor();
  await s.page.getByText("New document").click();
  const make = async (name, text) => {
    await s.page.getByLabel("File name").fill(name);
    await s.page.getByLabel("Text (Markdown)").fill(text);
    await button("Create").click();
  };
  await make("her wants", "# Wants\n\nTea in the morning. A window to the sea.\n");
  await notice("her wants created.").waitFor();
  await row("self/her_wants.md").waitFor();
  await make("her wants", "other words");
  await s.page.getByRole("alert").filter({ hasText: "A document with this name exists already" }).waitFor();
  await make("../secret", "other words");
  await s.page.getByRole("alert").filter({ hasText: "a file name is" }).waitFor();
});

step("a document is read and edited, and the focus stays", async () => {
  await button("her_wants").click();
  await dialog().getByRole("heading", { name: "Wants" }).waitFor();
  await button("Edit", dialog()).click();
  assert.match(await s.page.evaluate(() => document.activeElement?.tagName), /TEXTAREA/);
  await dialog().getByLabel("Title in the prompt").fill("What I want");
  await dialog().getByLabel("Text (Markdown)").fill("# Wants\n\nCoffee in the morning. A window to the sea.\n");
  await looks("document-editing");
  await button("Save", dialog()).click();
  await notice("Saved.").waitFor();
  await dialog().getByText("Coffee in the morning").waitFor();
  assert.equal(await focused(), "Edit");
  await s.page.keyboard.press("Escape");
  await button("What I want").waitFor();
});

step("unsaved text survives a closed sheet", async () => {
  await button("What I want").click();
  await button("Edit", dialog()).click();
  await dialog().getByLabel("Text (Markdown)").fill("half a thought");
  await s.page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  await button("What I want").click();
  await button("Continue editing", dialog()).click();
  await dialog().getByText("This is an unsaved draft.").waitFor();
  assert.equal(await dialog().getByLabel("Text (Markdown)").inputValue(), "half a thought");
  await button("Cancel", dialog()).click();
  await button("Edit", dialog()).waitFor();
});

step("a concurrent version is shown, and overwritten only on request", async () => {
  await button("Edit", dialog()).click();
  await dialog().getByLabel("Text (Markdown)").fill("# Wants\n\nCoffee at noon. A window to the sea.\n");
  await write("self/her_wants.md", "# Wants\n\nCoffee in the morning. A window to the hills.\n");
  await button("Save", dialog()).click();
  await dialog().getByText("The document changed while you were editing.").waitFor();
  const compared = dialog().getByTestId("compared");
  await compared.locator("del").filter({ hasText: "hills" }).waitFor();
  await compared.locator("ins").filter({ hasText: "noon" }).waitFor();
  await looks("document-meanwhile");
  await button("Overwrite with mine", dialog()).click();
  await dialog().getByText("Coffee at noon").waitFor();
});

step("the history shows the changes of each version and restores them", async () => {
  await button("History", dialog()).click();
  const versions = dialog().getByTestId("versions").locator(":scope > li");
  await s.page.waitForFunction(() => document.querySelectorAll('[data-testid="versions"] > li').length === 4);
  const second = versions.filter({ hasText: "Version 2" });
  await second.getByRole("button", { name: "Show changes" }).click();
  await second.locator("del").filter({ hasText: "Tea" }).waitFor();
  await second.locator("ins").filter({ hasText: "Coffee" }).waitFor();
  await second.getByRole("button", { name: "Compare with current" }).click();
  await second.locator("ins").filter({ hasText: "noon" }).waitFor();
  await looks("document-history");
  await versions.filter({ hasText: "Version 1" }).getByRole("button", { name: "Restore" }).click();
  await notice("Version 1 restored.").waitFor();
  await dialog().getByText("Tea in the morning").first().waitFor();
  await undo();
  await dialog().getByText("Coffee at noon").first().waitFor();
});

step("deleting asks for confirmation and can be undone", async () => {
  await button("Delete…", dialog()).click();
  const asked = dialog().filter({ hasText: "Delete What I want?" });
  await looks("document-deleting");
  assert.equal(await focused(), "Cancel", "the safe way has the focus");
  await s.page.keyboard.press("Enter");
  await asked.waitFor({ state: "detached" });
  assert.equal(await focused(), "Delete…", "the focus returns");
  await button("Delete…", dialog()).click();
  await button("Delete", asked).click();
  await notice("What I want deleted.").waitFor();
  await row("self/her_wants.md").waitFor({ state: "detached" });
  await undo();
  await row("self/her_wants.md").waitFor();
});

step("a deleted document is listed and restored", async () => {
  await write("custom/recipes.md", "Lentils with lemon.");
  await s.page.evaluate(() => api("/api/hub/documents/custom/recipes.md", { method: "DELETE" }));
  await visit(s.page, s.daemon.url, "/memory/documents");
  await row("self/her_wants.md").waitFor();
  assert.equal(await row("custom/recipes.md").count(), 0);
  await s.page.getByText("Deleted documents").click();
  const deleted = s.page.locator('[data-deleted="custom/recipes.md"]');
  await deleted.waitFor();
  await looks("documents-deleted");
  await deleted.getByRole("button", { name: "Restore" }).click();
  await notice("custom/recipes.md restored.").waitFor();
  await deleted.waitFor({ state: "detached" });
  await row("custom/recipes.md").getByRole("button").click();
  await dialog().getByText("Lentils with lemon.").waitFor();
  await s.page.keyboard.press("Escape");
  await undo();
  await row("custom/recipes.md").waitFor({ state: "detached" });
  await deleted.getByRole("button", { name: "Erase" }).click();
  await looks("document-erase-asked");
  await dialog().getByRole("button", { name: "Erase", exact: true }).click();
  await notice("custom/recipes.md was erased permanently.").waitFor();
  await deleted.waitFor({ state: "detached" });
});

step("the core blocks link to their editor", async () => {
  await write("self/persona.md", "小鱼在海边长大。");
  await visit(s.page, s.daemon.url, "/memory/documents");
  await looks("documents");
  await button("Who the persona is").click();
  await dialog().getByText("one of the three texts").waitFor();
  assert.equal(await button("Edit", dialog()).count(), 0);
  await dialog().getByRole("link", { name: "Edit in Settings, Persona" }).click();
  await dialog().waitFor({ state: "detached" });
  await s.page.waitForFunction(() => document.querySelector("main textarea")?.value === "小鱼在海边长大。");
});

const DAYS = ["2025-10-28", "2025-11-04", "2025-11-05", "2025-11-12"];

step("past days are summarised into weeks on request", async () => {
  for (const day of DAYS) await write(`daily/${day}_home.md`, `- 在海边走了很久，${day}。 [chat:c] [via:home]\n`);
  await visit(s.page, s.daemon.url, "/memory/diary");
  await s.page.getByTestId("diary").getByText("4 November 2025").waitFor();
  assert.doesNotMatch(await s.page.getByTestId("diary").innerText(), /home|\[via:/);
  await looks("diary-days");
  await s.page.getByRole("button", { name: "4 November 2025" }).click();
  await dialog().getByText("在海边走了很久").first().waitFor();
  assert.doesNotMatch(await dialog().innerText(), /\[(chat|via):/);
  await s.page.keyboard.press("Escape");
  await s.page.getByRole("link", { name: "Weeks" }).click();
  const week = row("weekly/2025-W45.md");
  await week.locator("p").filter({ hasText: /^Week 45 of 2025 \(3\s*–\s*9 Nov\)$/u }).waitFor();
  await week.getByText("It will be written automatically").waitFor();
  await looks("diary-weeks-unwritten");
  model.hold(0);
  await week.getByRole("button", { name: "Write now" }).click();
  await s.page.getByTestId("rollup-progress").getByRole("progressbar").waitFor();
  model.hold(null);
  await notice("Summary written.").waitFor();
  await week.getByRole("button", { name: "Week 45 of 2025" }).click();
  await dialog().getByText("Weekly Memory").waitFor();
  await looks("week");
  await s.page.keyboard.press("Escape");
});

step("all due summaries are written one after another, with progress", async () => {
  await s.page.getByText("2 summaries are due.").waitFor();
  model.hold(0);
  await button("Write all").click();
  await s.page.getByTestId("rollup-progress").getByText("0 of 2", { exact: true }).waitFor();
  await looks("telling");
  model.hold(null);
  await notice("2 summaries written.").waitFor();
  assert.equal(await s.page.getByRole("button", { name: /Write now/ }).count(), 0);
  await s.page.getByRole("link", { name: "Months" }).click();
  await row("monthly/2025-11.md").getByRole("button", { name: "Write now" }).click();
  await notice("Summary written.").last().waitFor();
  await row("monthly/2025-11.md").getByRole("button", { name: "November 2025" }).waitFor();
});

step("a late entry makes its week outdated, and the week can be written again", async () => {
  await write("daily/2025-11-06_home.md", "- 妹妹来了，一起包饺子。 [chat:d] [via:home]\n");
  await visit(s.page, s.daemon.url, "/memory/weeks");
  const week = row("weekly/2025-W45.md");
  await week.getByText("outdated").waitFor();
  await looks("diary-stale");
  await week.getByRole("button", { name: "Write now" }).click();
  await notice("Summary written.").waitFor();
  await week.getByText("outdated").waitFor({ state: "detached" });
});

step("a failing model is reported, and the existing summary stays", async () => {
  await write("daily/2025-11-07_home.md", "- 下雨了。 [chat:e] [via:home]\n");
  await visit(s.page, s.daemon.url, "/memory/weeks");
  model.stop();
  await row("weekly/2025-W45.md").getByRole("button", { name: "Write now" }).click();
  const alert = s.page.getByRole("alert").filter({ hasText: "2025-W45 could not be written" });
  await alert.waitFor();
  assert.match(await alert.innerText(), /The existing document was kept/);
  await row("weekly/2025-W45.md").getByText("outdated").waitFor();
});

step("the screens in Chinese", async () => {
  await button("中文").click();
  await button("2025年第45周（11月3日至11月9日）").waitFor();
  await looks("diary-chinese");
  await visit(s.page, s.daemon.url, "/memory/documents");
  await looks("documents-chinese");
  await button("What I want").click();
  await button("历史", dialog()).click();
  await dialog().getByText("当前", { exact: true }).waitFor();
  await looks("document-history-chinese");
  await s.page.keyboard.press("Escape");
});

step("no request left the origin, and the browser reported only rejected requests", async () => {
  const foreign = s.browser.requests.filter((url) => new URL(url).origin !== s.daemon.url && !url.startsWith("data:"));
  assert.deepEqual(foreign, []);
  assert.deepEqual(s.browser.complaints.filter((text) => !/ (404|409|422|502) /.test(text)), []);
});
