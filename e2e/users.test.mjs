// The persona's picture, character cards, users and their accounts.

import assert from "node:assert/strict";
import { deflateSync, crc32 } from "node:zlib";
import { startDaemon } from "./daemon.mjs";
import { visit } from "./screens.mjs";
import { story } from "./steps.mjs";

const s = story("users", () => startDaemon());
const { step, looks } = s;

const dialog = () => s.page.getByRole("dialog");
const notice = (text) => s.page.getByTestId("toasts").getByText(text);
const button = (name, within = s.page) => within.getByRole("button", { name, exact: true });
const avatar = (where) => s.page.locator(`${where} [data-avatar]`).first();
const drawnAt = (where) => avatar(where).getAttribute("data-avatar");
/** Waits until a picture is shown and decoded. */
const pictured = (where) =>
  s.page.waitForFunction((at) => document.querySelector(`${at} img[data-avatar]`)?.naturalWidth > 0, where);

/** A two-colour PNG; `noise` adds bytes, `text` is the content of a text chunk. */
function png(side, noise = 0, text = "") {
  const rows = Buffer.alloc(side * (side * 3 + 1));
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) rows.set(x > y ? [216, 160, 90] : [55, 97, 79], y * (side * 3 + 1) + 1 + x * 3);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const framed = Buffer.alloc(body.length + 8);
    framed.writeUInt32BE(data.length, 0);
    body.copy(framed, 4);
    framed.writeUInt32BE(sum(body), body.length + 4);
    return framed;
  };
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const ballast = noise ? [chunk("teXt", Buffer.alloc(noise, 97))] : [];
  if (text) ballast.push(chunk("tEXt", Buffer.from(text, "latin1")));
  return Buffer.concat([signature, chunk("IHDR", head), ...ballast, chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

/** CRC-32 for PNG; older versions of Node lack it. */
function sum(bytes) {
  if (crc32) return crc32(bytes);
  let rest = 0xffffffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return (rest ^ 0xffffffff) >>> 0;
}

step("without a picture a letter is drawn, in the header and beside replies", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  assert.equal(await drawnAt("header"), "letter");
  assert.equal((await avatar("header").textContent()).trim(), "E");
  await s.page.locator("#words").fill("hello there");
  await s.page.keyboard.press("Enter");
  await s.page.locator('article[data-role="persona"][data-delivery="kept"]').waitFor();
  assert.equal(await drawnAt('article[data-role="persona"]'), "letter");
  await looks("chat-letter");
});

step("a picture is chosen and shown everywhere", async () => {
  await visit(s.page, s.daemon.url, "/settings/persona");
  const choice = s.page.waitForEvent("filechooser");
  await button("Choose a picture").click();
  // The file name has another type: the bytes decide.
  await (await choice).setFiles({ name: "portrait.jpeg", mimeType: "image/jpeg", buffer: png(64) });
  await notice("Picture saved.").waitFor();
  await pictured("header");
  await pictured("main");
  await looks("persona-picture");
  await s.page.getByRole("link", { name: "Chat" }).click();
  await pictured('article[data-role="persona"]');
  await looks("chat-picture");
});

step("another tab shows it without a reload", async () => {
  const other = await s.browser.context.newPage();
  await other.goto(s.daemon.url);
  await other.waitForFunction(() => document.querySelector("header img[data-avatar]")?.naturalWidth === 64);
  await visit(s.page, s.daemon.url, "/settings/persona");
  await s.page.locator('main input[type="file"]').setInputFiles({ name: "b.png", mimeType: "image/png", buffer: png(48) });
  await other.waitForFunction(() => document.querySelector("header img[data-avatar]")?.naturalWidth === 48);
  await other.close();
});

step("an unsupported file is rejected, a large image is scaled down", async () => {
  const choose = (name, mimeType, buffer) =>
    s.page.locator('main input[type="file"]').setInputFiles({ name, mimeType, buffer });
  await choose("page.png", "image/png", Buffer.from("<html>no picture</html>"));
  await notice("This file is not a supported image").waitFor();
  await choose("camera.png", "image/png", png(1_500, 5_000_000));
  await s.page.waitForFunction(() => document.querySelector("header img[data-avatar]")?.naturalWidth === 1_024);
});

step("a picture is removed, and undo restores it", async () => {
  await button("Remove").click();
  await notice("Picture removed.").waitFor();
  await s.page.locator('header [data-avatar="letter"]').waitFor();
  assert.equal(await s.page.evaluate(() => document.activeElement?.textContent), "Choose a picture", "the focus stays near");
  await s.page.getByTestId("toasts").getByRole("button", { name: "Undo" }).click();
  await pictured("header");
});

const users = () => s.page.getByTestId("users").locator("li");

step("a character card becomes a persona with its texts and its picture; an image without a card is named as such", async () => {
  await visit(s.page, s.daemon.url, "/onboarding/new");
  await s.page.getByLabel(/From material/).check();
  const file = s.page.locator('main input[type="file"]');
  await file.setInputFiles({ name: "holiday.png", mimeType: "image/png", buffer: png(32) });
  await s.page.getByRole("alert").filter({ hasText: "holiday.png contains neither a character nor text: it is a picture without a card" }).waitFor();
  const card = {
    spec: "chara_card_v2",
    data: {
      name: "Wren",
      description: "{{char}} keeps a lighthouse.",
      personality: "patient",
      mes_example: "<START>\n{{char}}: Mind the step.",
      first_mes: "The lamp is lit, {{user}}.",
      alternate_greetings: ["Back from the mainland?"],
      character_book: { name: "Coast", entries: [{ keys: ["storm"], content: "Storms come from the west.", enabled: true }] },
    },
  };
  const chara = Buffer.from(JSON.stringify(card)).toString("base64");
  await file.setInputFiles({ name: "wren.png", mimeType: "image/png", buffer: png(48, 0, `chara\0${chara}`) });
  await s.page.getByText("Read from the character card “Wren”.").waitFor();
  await s.page.getByText("A lorebook with 1 entry. It is used when one of its keywords is mentioned.").waitFor();
  assert.equal(await s.page.getByLabel("Name", { exact: true }).inputValue(), "Wren");
  assert.equal(await s.page.getByLabel("Who the persona is").inputValue(), "Wren keeps a lighthouse.\n\nPersonality: patient");
  assert.equal(await s.page.getByLabel("Who you are").inputValue(), "");
  assert.equal(await s.page.getByLabel("How they talk").inputValue(), "Examples of how they talk:\nWren: Mind the step.\n\nWays in which they begin a conversation:\nThe lamp is lit, you.\n\nBack from the mainland?");
  await s.page.getByLabel("Back from the mainland?").check();
  await looks("character-card");
  await button("Save and start").click();
  await s.page.waitForFunction(() => document.querySelector("header img[data-avatar]")?.naturalWidth === 48);
  await s.page.getByText("Back from the mainland?", { exact: true }).waitFor();
  await visit(s.page, s.daemon.url, "/memory/documents");
  await s.page.locator('[data-document="custom/lore/coast-storm.md"] button.name').click();
  await s.page.getByText("Storms come from the west.").waitFor();
  await looks("lorebook-entry");
  await s.page.keyboard.press("Escape");
  await s.page.getByRole("banner").getByRole("combobox").selectOption("default");
  await s.page.waitForFunction(() => document.querySelector("header img[data-avatar]")?.naturalWidth !== 48);
});

step("the owner is listed from the start, and gets a name and a time zone", async () => {
  await visit(s.page, s.daemon.url, "/settings/users");
  assert.match(await users().first().innerText(), /self.*you/s);
  await button("self").click();
  await dialog().getByLabel("Name", { exact: true }).fill("林");
  await dialog().getByLabel("Time zone").fill("Mars/Base");
  await button("Save", dialog()).click();
  await dialog().getByRole("alert").filter({ hasText: "unknown zone" }).waitFor();
  await dialog().getByLabel("Time zone").fill("Asia/Shanghai");
  await button("Save", dialog()).click();
  await notice("Saved.").first().waitFor();
  await s.page.keyboard.press("Escape");
  await users().filter({ hasText: "林" }).filter({ hasText: "Asia/Shanghai" }).waitFor();
  assert.equal(await s.page.evaluate(() => document.activeElement?.textContent), "林", "the focus returns");
  await button("林").click();
  await dialog().getByLabel("Time zone").fill("");
  await button("Save", dialog()).click();
  await notice("Saved.").last().waitFor();
  await s.page.keyboard.press("Escape");
  await users().filter({ hasText: "林" }).filter({ hasText: "no time zone" }).waitFor();
});

step("a user is added once", async () => {
  const make = async (id) => {
    await s.page.getByLabel("ID", { exact: true }).fill(id);
    await s.page.getByLabel("Name", { exact: true }).fill("Mira");
    await button("Add").click();
  };
  await make("mira");
  await notice("Mira added.").waitFor();
  await users().filter({ hasText: "Mira" }).waitFor();
  await make("mira");
  await s.page.getByRole("alert").filter({ hasText: "a user with this id already exists" }).waitFor();
  await looks("users");
});

step("an account is linked to one user only, and unlinked", async () => {
  const link = async (number) => {
    await dialog().getByLabel("Channel").fill("discord");
    await dialog().getByLabel("Account name or ID").fill(number);
    await button("Link", dialog()).click();
  };
  await button("Mira").click();
  // More digits than a JavaScript number holds.
  await link("123456789012345678901");
  const linked = dialog().getByRole("button", { name: "Unlink discord: 123456789012345678901" });
  await linked.waitFor();
  await looks("user");
  await s.page.keyboard.press("Escape");
  await button("林").click();
  await link("123456789012345678901");
  await dialog().getByRole("alert").filter({ hasText: "another user" }).waitFor();
  await s.page.keyboard.press("Escape");
  await button("Mira").click();
  await linked.click();
  await linked.waitFor({ state: "detached" });
  await s.page.getByTestId("toasts").getByRole("button", { name: "Undo" }).last().click();
  await linked.waitFor();
  await s.page.keyboard.press("Escape");
});

step("the screens in Chinese", async () => {
  await button("中文").click();
  await s.page.getByText("和角色对话的人").waitFor();
  await looks("users-chinese");
  await button("Mira").click();
  await dialog().getByText("已关联的账号").waitFor();
  await looks("user-chinese");
  await s.page.keyboard.press("Escape");
  await visit(s.page, s.daemon.url, "/settings/persona");
  await looks("persona-chinese");
});

step("no request left the origin, and the browser reported only rejected requests", async () => {
  const foreign = s.browser.requests.filter((url) => new URL(url).origin !== s.daemon.url && !url.startsWith("data:"));
  assert.deepEqual(foreign, []);
  assert.deepEqual(s.browser.complaints.filter((text) => !/ (400|404|409|422) /.test(text)), []);
});
