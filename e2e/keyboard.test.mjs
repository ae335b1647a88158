// Everything by keyboard: reachable, named, and without losing the focus.

import assert from "node:assert/strict";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { startModel } from "./model.mjs";
import { story } from "./steps.mjs";

let model;
const s = story("keyboard", async () => {
  model = await startModel({ firstTokenMs: 50, betweenTokensMs: 5 });
  const daemon = await startDaemon(DAEMON, model.settings);
  const stop = daemon.stop;
  daemon.stop = async () => {
    await stop();
    model.stop();
  };
  return daemon;
});
const { step, assertAccessible } = s;

const dialog = () => s.page.getByRole("dialog");
const press = (key) => s.page.keyboard.press(key);

/** The accessible name of the focused element. */
const focused = () =>
  s.page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return "nothing";
    const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent ?? "";
    return label.trim().replaceAll(/\s+/g, " ").slice(0, 80) || element.tagName;
  });

/** Presses Tab until an element of this name has the focus. */
async function reach(name, key = "Tab") {
  const seen = [];
  for (let presses = 0; presses < 120; presses++) {
    const now = await focused();
    if (typeof name === "string" ? now === name : name.test(now)) return;
    seen.push(now);
    await press(key);
  }
  throw new Error(`${key} never reached ${name}; it passed ${[...new Set(seen)].join(" | ")}`);
}

/** Frames (at least 0.7 s) that the focus must last; whatever takes it away comes within that time. */
const FRAMES_HELD = 42;

/** Asserts that the focus stays on an element. */
async function stays(where) {
  await s.page.evaluate(() => (globalThis.heldFor = 0));
  await s.page
    .waitForFunction((frames) => {
      const { activeElement, body } = document;
      globalThis.heldFor = activeElement && activeElement !== body ? globalThis.heldFor + 1 : 0;
      return globalThis.heldFor >= frames;
    }, FRAMES_HELD)
    .catch((error) => assert.fail(`the focus is lost: ${where} (${error.message})`));
}

const said = (text) => s.page.waitForFunction((words) => document.body.innerText.includes(words), text);

/** Waits for a screen's tabs; a placeholder is shown until then. */
const shows = (screen, part) => s.page.getByRole("main", { name: screen }).getByRole("link", { name: part, exact: true }).waitFor();

step("the focus starts in the composer, and the page has landmarks", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  await s.page.locator("#words").waitFor();
  assert.equal(await s.page.evaluate(() => document.activeElement?.id), "words");
  await s.page.getByRole("banner").waitFor();
  await s.page.getByRole("main", { name: "Conversation" }).waitFor();
  await s.page.getByRole("navigation", { name: "Screens" }).waitFor();
  await s.page.getByRole("heading", { level: 1, name: "Echo" }).waitFor();
  assert.equal(await s.page.getByRole("main").count(), 1);
});

step("a reply is announced to screen readers", async () => {
  // The next announcement replaces it.
  await s.page.evaluate(() => {
    const region = document.querySelector('div.visually-hidden[aria-live="polite"]');
    globalThis.announced = [];
    new MutationObserver(() => globalThis.announced.push(region.textContent)).observe(region, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
  await s.page.keyboard.type("I planted an apple tree with my daughter Mira this morning; she was so proud of it.");
  await press("Enter");
  await s.page.locator('article[data-role="persona"][data-delivery="kept"]').waitFor();
  await s.page.waitForFunction(() => globalThis.announced.some((text) => text.startsWith("Echo: ")));
  const reply = await s.page.evaluate(() => globalThis.announced.find((text) => text.startsWith("Echo: ")));
  assert.match(reply, /apple tree/);
  await stays("after a message");
});

step("a token is created and revoked", async () => {
  await reach("Settings", "Shift+Tab");
  await press("Enter");
  await shows("Settings", "Access");
  await stays("on another screen");
  await reach("Access");
  await press("Enter");
  await reach("Token name");
  await s.page.keyboard.type("tablet");
  await press("Enter");
  await said("It is shown only once:");
  await stays("after a form was sent");
  await reach("Revoke");
  await press("Enter");
  await dialog().waitFor();
  assert.equal(await focused(), "Cancel", "the safe way comes first");
  await assertAccessible("revoking");
  await press("Escape");
  await dialog().waitFor({ state: "detached" });
  assert.equal(await focused(), "Revoke", "the focus returns");
  await press("Enter");
  await reach("Revoke");
  await press("Enter");
  await said("tablet revoked.");
  await dialog().waitFor({ state: "detached" });
  await stays("when the row is gone");
});

step("a setting is saved", async () => {
  await reach("All settings", "Shift+Tab");
  await press("Enter");
  await reach("Find a setting");
  await s.page.keyboard.type("max_messages");
  const row = s.page.locator('[data-setting="session.max_messages"]');
  await row.waitFor();
  await reach("max_messages");
  await press("ControlOrMeta+a");
  await s.page.keyboard.type("150");
  await reach("Save");
  await press("Enter");
  await said("session.max_messages changed.");
  await stays("when the Save button is gone");
});

step("a memory is opened, corrected and forgotten", async () => {
  await reach("Memory", "Shift+Tab");
  await press("Enter");
  await shows("Memory", "Events");
  await reach("Events");
  await press("Enter");
  const memory = s.page.getByTestId("memories").locator("[data-memory]").filter({ hasText: "apple tree" });
  await memory.waitFor();
  await reach(/apple tree/);
  await press("Enter");
  await dialog().waitFor();
  await reach("Correct");
  await press("Enter");
  await stays("when a text becomes a field");
  await s.page.waitForFunction(() => document.activeElement?.tagName === "TEXTAREA");
  await press("ControlOrMeta+a");
  await s.page.keyboard.type("They planted a pear tree.");
  await reach("Save");
  await press("Enter");
  await said("Corrected.");
  await stays("when a field becomes a text");
  await reach("Forget…");
  await press("Enter");
  await s.page.getByRole("dialog", { name: "Forget this memory?" }).waitFor();
  await stays("in a dialog above another");
  await press("Escape");
  await s.page.getByRole("dialog", { name: "Forget this memory?" }).waitFor({ state: "detached" });
  assert.equal(await focused(), "Forget…", "the focus returns to the dialog below");
  await press("Enter");
  await reach(/^Delete$|^Forget thoughts too$/);
  await press("Enter");
  await said("Memory forgotten.");
  await dialog().waitFor({ state: "detached" });
  await stays("when the memory is gone");
});

step("an erasure is previewed, and Cancel keeps the focus", async () => {
  await reach("Erased", "Shift+Tab");
  await press("Enter");
  await reach("Erase everything that mentions…");
  await s.page.keyboard.type("apple");
  await press("Enter");
  await said("This would erase");
  await stays("after a preview");
  await reach("Cancel");
  await press("Enter");
  await stays("when the preview is gone");
});

step("a document is created and deleted", async () => {
  await reach("Documents", "Shift+Tab");
  await press("Enter");
  await reach("New document");
  await press("Enter");
  await reach("File name");
  await s.page.keyboard.type("garden");
  await reach("Text (Markdown)");
  await s.page.keyboard.type("An apple tree.");
  await reach("Create");
  await press("Enter");
  await said("garden created.");
  await stays("when the form is empty again");
  await reach("garden", "Shift+Tab");
  await press("Enter");
  await dialog().waitFor();
  await reach("Delete…");
  await press("Enter");
  await reach("Delete");
  await press("Enter");
  await said("garden deleted.");
  await dialog().first().waitFor({ state: "detached" });
  await stays("when the document is gone");
});

step("the persona's name is saved, and the focus stays at the form", async () => {
  await reach("Settings", "Shift+Tab");
  await press("Enter");
  await shows("Settings", "Persona");
  await reach("Persona");
  await press("Enter");
  await s.page.getByLabel("Name", { exact: true }).waitFor();
  await reach("Name");
  await press("ControlOrMeta+a");
  await s.page.keyboard.type("Iris");
  await press("Enter");
  await s.page.getByRole("heading", { level: 1, name: "Iris" }).waitFor();
  await stays("after the form was saved");
});
