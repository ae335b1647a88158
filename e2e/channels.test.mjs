// A bot is connected in the page: its token is checked, an account is linked, a conversation runs there, and it is switched off.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { story } from "./steps.mjs";
import { startTelegram } from "./telegram.mjs";

const TOKEN = "123456:token-of-the-browser-test";

let telegram = null;

const s = story("channels", async () => {
  telegram = await startTelegram(TOKEN);
  const daemon = await startDaemon(DAEMON, {
    ECHOVESSEL__CHANNELS__TELEGRAM__API_BASE: telegram.base,
    ECHOVESSEL__CHANNELS__TELEGRAM__DEBOUNCE: "0ms",
  });
  const stop = async () => {
    await daemon.stop();
    telegram.stop();
  };
  return { ...daemon, stop };
});
const { step, looks } = s;

const row = (name) => s.page.getByTestId("channels").getByRole("listitem").filter({ has: s.page.getByText(name, { exact: true }) });
const button = (name, within = s.page) => within.getByRole("button", { name, exact: true });

async function until(what, holds) {
  for (let tries = 0; tries < 200; tries++) {
    if (holds()) return;
    await pause(50);
  }
  assert.fail(`never: ${what}`);
}

step("each platform says how a bot is made there", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  await s.page.goto(`${s.daemon.url}/settings/channels`);
  await button("Set up", row("Discord")).click();
  await row("Discord").getByText("discord.com/developers/applications").waitFor();
  await button("Set up", row("Telegram")).click();
  await row("Telegram").getByText("@BotFather").waitFor();
  assert.equal(await button("Set up", row("iMessage")).count(), 0, "no bot talks there");
  await looks("set-up");
});

step("a wrong token is told beside its field, and nothing is enabled", async () => {
  await row("Telegram").getByLabel("Bot token").fill("123456:wrong");
  await button("Connect", row("Telegram")).click();
  await row("Telegram").getByRole("alert").waitFor();
  assert.equal(await row("Telegram").getByLabel("Bot token").getAttribute("aria-invalid"), "true");
  await looks("wrong-token");
});

step("with its token the bot is connected, and a code links the account", async () => {
  await row("Telegram").getByLabel("Bot token").fill(TOKEN);
  await s.page.keyboard.press("Enter");
  const code = row("Telegram").getByRole("status").filter({ hasText: "Send" });
  await code.waitFor();
  await looks("connected");
  telegram.write((await code.innerText()).match(/[A-Z2-9]{10}/)[0]);
  await until("the account is linked", () => telegram.sent.some((text) => text.includes("linked")));
  telegram.write("my cat is called Mochi");
  await until("a reply", () => telegram.sent.length === 2);
  await s.page.goto(`${s.daemon.url}/`);
  await s.page.getByText("my cat is called Mochi").first().waitFor();
});

step("it is switched off, and the page says so in Chinese too", async () => {
  await s.page.goto(`${s.daemon.url}/settings/channels`);
  await button("Switch off", row("Telegram")).click();
  await button("Set up", row("Telegram")).waitFor();
  await button("中文").click();
  await button("设置", row("Telegram")).click();
  await row("Telegram").getByText("在 Telegram 里给 @BotFather 发送").waitFor();
  await looks("set-up-chinese");
});
