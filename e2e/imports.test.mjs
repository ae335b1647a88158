// Importing in five steps, exporting, and taking an import back, in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { startDaemon } from "./daemon.mjs";
import { visit } from "./screens.mjs";
import { story } from "./steps.mjs";

const CHAT = `[01.03.24, 14:03:05] Nora: Good morning, I have a dog called Pepper
[01.03.24, 14:04:10] Milo: Good morning Nora, shall we walk with Pepper?
[01.03.24, 14:05:00] Nora: Yes, and I work as a nurse in Berlin until the evening
`;
const MORE = `[04.03.24, 09:00:00] Nora: It rains today
[04.03.24, 09:01:00] Milo: Then we stay in
`;

const s = story("imports", startDaemon);
const { step, picture, assertAccessible } = s;
const button = (name) => s.page.getByRole("button", { name, exact: true });
const file = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
const drop = () => s.page.getByRole("group", { name: "Files to import" });

step("several files are dropped and looked at", async () => {
  await s.page.goto(s.daemon.link);
  await visit(s.page, s.daemon.url, "/settings/import");
  await picture("start");
  const transfer = await s.page.evaluateHandle(
    (files) => {
      const transfer = new DataTransfer();
      for (const [name, text] of files) transfer.items.add(new File([text], name));
      return transfer;
    },
    [
      ["_chat.txt", CHAT],
      ["later.txt", MORE],
    ],
  );
  await drop().dispatchEvent("drop", { dataTransfer: transfer });
  await s.page.getByText("Who is who?").waitFor();
  const found = s.page.getByTestId("import");
  assert.match(await found.innerText(), /5 messages · whatsapp/);
  assert.equal(await button("Import").isEnabled(), false, "nobody is mapped yet");
});

step("speakers are mapped and the messages recorded", async () => {
  await s.page.getByLabel(/^Nora/).selectOption("You");
  await s.page.getByLabel(/^Milo/).selectOption("The persona");
  await s.page.getByLabel("Time zone of the dates").fill("Europe/Berlin");
  await picture("map");
  await assertAccessible("mapping of an import");
  await button("Import").click();
  await s.page.getByRole("status").filter({ hasText: "Done" }).waitFor();
  const tally = s.page.getByTestId("import").locator("dl");
  assert.match((await tally.innerText()).replace(/\s+/g, " "), /Found 5 Imported 5 Already here 0 Skipped 0 Conversations remembered 3 \/ 3/);
  await picture("report");
  await assertAccessible("report of an import");
});

step("the messages are in the conversation with their dates", async () => {
  await visit(s.page, s.daemon.url, "/");
  const first = s.page.locator('article[data-role="user"]').first();
  assert.match(await first.innerText(), /I have a dog called Pepper/);
});

step("the archive is a zip file", async () => {
  await visit(s.page, s.daemon.url, "/settings/import");
  const [download] = await Promise.all([
    s.page.waitForEvent("download"),
    s.page.getByRole("link", { name: "Archive (zip)" }).click(),
  ]);
  assert.match(download.suggestedFilename(), /^echovessel-.*\.zip$/);
  assert.equal(readFileSync(await download.path()).subarray(0, 2).toString(), "PK");
});

step("an import is taken back", async () => {
  await s.page.getByTestId("imports").getByRole("button", { name: "Show" }).click();
  await button("Undo the import").click();
  await s.page.getByText("Erase 5 messages and all memories created from them?").waitFor();
  await button("Erase").click();
  await drop().waitFor();
  await s.page.getByTestId("imports").waitFor({ state: "detached" });
  await visit(s.page, s.daemon.url, "/");
  assert.equal(await s.page.locator("article").count(), 0);
});

step("what another program had saved is accepted or not", async () => {
  const saved = "1. [2024-04-05]. Has a dog named Pepper.\n\n2. [2024-05-01]. Allergic to walnuts.";
  const context = { author: { role: "assistant" }, content: { content_type: "model_editable_context", model_set_context: saved } };
  const talk = [{ title: "Saved", conversation_id: "c", current_node: "a", mapping: { a: { parent: null, children: [], message: context } } }];
  await visit(s.page, s.daemon.url, "/settings/import");
  await s.page.locator('input[type="file"]').setInputFiles([file("conversations.json", JSON.stringify(talk))]);
  await s.page.getByText("2 facts about you").waitFor();
  await button("Import").click();
  await s.page.getByText("The other program had saved 2 facts about you.").waitFor();
  await picture("proposed");
  await s.page.getByRole("link", { name: "Review" }).click();
  const waiting = s.page.locator("main li").filter({ hasText: "ChatGPT had saved this fact about you" });
  await waiting.filter({ hasText: "walnuts" }).waitFor();
  await picture("to-decide");
  await waiting.filter({ hasText: "walnuts" }).getByRole("button", { name: "It's true" }).click();
  await waiting.filter({ hasText: "walnuts" }).waitFor({ state: "detached" });
  await visit(s.page, s.daemon.url, "/settings/import");
  await s.page.getByTestId("imports").getByRole("button", { name: "Show" }).click();
  await button("Accept all").click();
  await s.page.getByText("1 memory saved.").waitFor();
  await visit(s.page, s.daemon.url, "/memory");
  await s.page.getByText("Has a dog named Pepper.").first().waitFor();
});

step("the fields of an unknown file are named, and others keep their names", async () => {
  const table = "Wann;Wer;Nachricht\n05.01.2024 10:00;Ann;Hallo\n05.01.2024 10:01;Mira;Na du\n05.01.2024 10:02;Tom;Ich auch\n";
  await visit(s.page, s.daemon.url, "/settings/import");
  await s.page.locator('input[type="file"]').setInputFiles([file("talk.csv", table)]);
  const fields = s.page.getByTestId("fields");
  await fields.waitFor();
  await picture("fields");
  await assertAccessible("naming the fields of a file");
  await fields.getByLabel("Message text").selectOption("Nachricht");
  await fields.getByLabel("Sender").selectOption("Wer");
  await fields.getByLabel("Date and time").selectOption("Wann");
  await button("Read the file with these fields").click();
  await s.page.getByLabel(/^Ann/).selectOption("You");
  await s.page.getByLabel(/^Mira/).selectOption("The persona");
  await button("Import").click();
  await s.page.getByRole("status").filter({ hasText: "Done" }).waitFor();
  await visit(s.page, s.daemon.url, "/");
  const other = s.page.locator('article[data-role="other"]');
  await other.waitFor();
  assert.match(await other.innerText(), /Tom\s+Ich auch/);
  await picture("others");
});

step("it is all there in Chinese", async () => {
  await visit(s.page, s.daemon.url, "/settings");
  await s.page.getByLabel("中文").check();
  await visit(s.page, s.daemon.url, "/settings/import");
  await s.page.getByLabel("要导入的文件").waitFor();
  await s.page.locator('input[type="file"]').setInputFiles([file("_chat.txt", CHAT)]);
  await s.page.getByText("谁是谁？").waitFor();
  await picture("map-zh");
  await button("放弃这些文件").click();
});
