// From an empty home without a model to a remembered fact: a model is connected in the page, and nothing is overwritten unseen.

import assert from "node:assert/strict";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { startModel } from "./model.mjs";
import { story } from "./steps.mjs";

const KEY = "key-of-the-browser-test-0042";
const WRONG_KEY = "some-other-key-altogether";
const NOBODY = "http://127.0.0.1:9/v1";
const FIRST_FACT_MS_MAX = 120_000;

let model = null;
let ollama = null;
let began = 0;

const s = story("connect", async () => {
  model = await startModel({ key: KEY });
  // The choice is the page's: no variable of the environment makes it.
  const daemon = await startDaemon(DAEMON, {
    ECHOVESSEL__LLM__PROVIDER: undefined,
    ECHOVESSEL__LLM__MAX_RETRIES: "0",
    ECHOVESSEL__SESSION__IDLE: "10m",
  });
  const stop = async () => {
    await daemon.stop();
    model.stop();
    ollama?.stop();
  };
  return { ...daemon, stop };
});
const { step, looks } = s;

const status = () => s.page.getByTestId("model-status");
const field = (name) => status().getByLabel(name, { exact: true });
const button = (name) => s.page.getByRole("button", { name, exact: true });
const alert = (text) => status().getByRole("alert").filter({ hasText: text });

step("a first visit shows what is missing and where to choose it", async () => {
  began = Date.now();
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  await s.page.getByTestId("offline").getByRole("link").click();
  await s.page.getByRole("heading", { name: "Settings" }).waitFor();
  await field("Service").waitFor();
  await s.page.goto(`${s.daemon.url}/onboarding`);
  await field("Service").waitFor();
  await status().getByText("No model server found on this machine").waitFor();
  assert.equal(await status().getByTestId("model-privacy").innerText(), "Your messages and the memories created from them are sent to api.openai.com.");
  await looks("nothing-connected");
});

step("a wrong address, a wrong key and a model that hangs are told beside their fields", async () => {
  await field("Another address").check();
  await field("Address").fill(NOBODY);
  await field("Model").fill("scripted");
  await button("Test").click();
  await alert("cannot be reached").waitFor();
  assert.equal(await field("Address").getAttribute("aria-invalid"), "true");

  await field("Address").fill(model.url);
  await field("API key").fill(WRONG_KEY);
  await button("Show models").click();
  await alert("does not accept the API key").waitFor();
  assert.equal(await field("API key").getAttribute("aria-invalid"), "true");
  assert.ok(!(await s.page.locator("body").innerText()).includes(WRONG_KEY));
  await looks("wrong-key");

  model.hold(0);
  await field("API key").fill(KEY);
  await button("Test").click();
  await status().getByText("Waiting for the reply… 1 s").waitFor();
  await button("Stop").click();
  model.hold(null);
  await button("Test").waitFor();
});

step("by keyboard alone the right model is listed, tried and used", async () => {
  await button("Show models").focus();
  await s.page.keyboard.press("Enter");
  await status().getByText("1 model.").waitFor();
  assert.equal(await field("Model").inputValue(), "scripted");
  await button("Test").focus();
  await s.page.keyboard.press("Enter");
  await status().getByTestId("model-try").getByText("tokens per second").waitFor();
  await looks("tried");
  await field("Model").focus();
  await s.page.keyboard.press("Enter");
  await status().getByText("openai · scripted").waitFor();
  await status().getByText("Working.").waitFor();
  await field("Model").waitFor({ state: "detached" });
});

step("the persona answers through it, and remembers, within two minutes of the first visit", async () => {
  await s.page.getByLabel("Name", { exact: true }).fill("小鱼");
  await s.page.getByLabel("Who the persona is").fill("小鱼在海边长大。");
  await s.page.getByLabel("How they talk").fill("说话直，爱笑。");
  await button("Save and start").click();
  await s.page.getByRole("heading", { name: "小鱼", level: 1 }).waitFor();
  assert.equal(await s.page.getByTestId("offline").count(), 0);
  await s.page.locator("#words").fill("我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。");
  await s.page.keyboard.press("Enter");
  await s.page.locator('article[data-role="persona"][data-delivery="kept"]').first().waitFor();
  await s.page.getByTestId("remember-now").getByRole("button").click();
  await s.page.getByTestId("timeline").locator('li[data-kind="event"]').filter({ hasText: "小黑" }).first().waitFor();
  const took = Date.now() - began;
  console.log(`from the first visit to a remembered fact: ${Math.round(took / 1000)} s`);
  assert.ok(took <= FIRST_FACT_MS_MAX, `${took} ms`);
});

step("the browser's time zone is the reader's", async () => {
  await s.page.goto(`${s.daemon.url}/settings`);
  await s.page.waitForFunction(() => document.querySelector("main input[list]")?.value === "Asia/Shanghai");
});

step("Back and Save overwrite nothing unseen", async () => {
  await s.page.goto(`${s.daemon.url}/onboarding`);
  await s.page.getByText("小鱼 is already set up.").waitFor();
  assert.equal(await s.page.getByLabel("Who the persona is").inputValue(), "小鱼在海边长大。");
  await button("Save and start").click();
  await s.page.getByRole("heading", { name: "小鱼", level: 1 }).waitFor();
  await s.page.goBack();
  await s.page.getByText("小鱼 is already set up.").waitFor();
  await s.page.getByLabel("Who the persona is").fill("");
  await button("Save and start").click();
  const dialog = s.page.getByRole("dialog");
  await dialog.getByTestId("compared").filter({ hasText: "小鱼在海边长大。" }).waitFor();
  await looks("replace");
  await dialog.getByRole("button", { name: "Keep the saved texts" }).click();
  await s.page.getByRole("heading", { name: "小鱼", level: 1 }).waitFor();
  await s.page.goto(`${s.daemon.url}/settings/persona`);
  await s.page.waitForFunction(() => document.querySelector("main textarea")?.value === "小鱼在海边长大。");
  assert.equal(await s.page.getByLabel("How they talk").inputValue(), "说话直，爱笑。");
});

step("data of a program is no material, and a name that is taken is refused", async () => {
  await s.page.goto(`${s.daemon.url}/onboarding/new`);
  await s.page.getByLabel("Name", { exact: true }).fill("小鱼");
  await s.page.getByRole("alert").filter({ hasText: "A persona named 小鱼 already exists." }).waitFor();
  await s.page.getByLabel("Name", { exact: true }).fill("Wren");
  await s.page.getByLabel(/From material/).check();
  await s.page.getByLabel("Material", { exact: true }).fill('{"hello": 1}');
  await button("Create a draft").click();
  await s.page.getByRole("alert").filter({ hasText: "contains neither a character nor text" }).waitFor();
  const file = s.page.locator('main input[type="file"]');
  const talk = [{ role: "user", content: "Hello" }, { role: "assistant", content: "Hi there" }];
  await file.setInputFiles({ name: "talk.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(talk)) });
  await s.page.getByText("This contains 2 messages.").waitFor();
  await looks("material-messages");
  await s.page.getByRole("link", { name: "Import and export" }).click();
  await s.page.getByText("talk.json").waitFor();
});

step("a conversation is remembered at once where that is wished", async () => {
  await s.page.goto(s.daemon.url);
  await s.page.locator("#words").fill("My sister Clara moved to Porto and I miss her so much.");
  await s.page.keyboard.press("Enter");
  const pending = s.page.getByTestId("remember-now");
  await pending.filter({ hasText: "becomes memory after 10 minutes of silence" }).waitFor();
  await looks("remember-now");
  await pending.getByRole("button", { name: "Remember now" }).click();
  await s.page.getByTestId("timeline").locator('li[data-kind="event"]').filter({ hasText: "Clara" }).first().waitFor();
  await pending.waitFor({ state: "detached" });
});

step("writing first is a switch with quiet hours, and an address that is none says so", async () => {
  await s.page.goto(`${s.daemon.url}/settings/proactive`);
  await s.page.getByLabel("Write first").check();
  await s.page.getByTestId("toasts").getByText("Saved").first().waitFor();
  await s.page.getByLabel("Quiet from").selectOption("21");
  await s.page.getByTestId("toasts").getByText("Saved").first().waitFor();
  await looks("proactive");
  await s.page.reload();
  await s.page.waitForFunction(() => document.querySelector('[data-testid="proactive-switch"] input')?.checked);
  assert.equal(await s.page.getByLabel("Quiet from").inputValue(), "21");
  await s.page.goto(`${s.daemon.url}/nowhere/at/all`);
  await s.page.getByText("This page does not exist.").waitFor();
  await s.page.getByRole("link", { name: "Back to the conversation" }).click();
  await s.page.locator("#words").waitFor();
});

step("a model that is gone is told by Health, and a server of this machine takes its place", async () => {
  model.stop();
  await s.page.goto(`${s.daemon.url}/settings/health`);
  await s.page.getByTestId("model-health").filter({ hasText: "cannot be reached" }).waitFor();
  ollama = await startModel({ port: 11434 });
  await s.page.goto(`${s.daemon.url}/settings/model`);
  await field("Ollama on this machine").check();
  assert.equal(await field("Model").inputValue(), "scripted");
  assert.equal(await status().getByTestId("model-privacy").innerText(), "Your messages stay on this machine.");
  await looks("local");
  await button("Use this model").click();
  await status().getByText("Working.").waitFor();
  await button("Check again").click();
  await status().getByText("openai · scripted").waitFor();
});

step("the same in Chinese", async () => {
  await button("中文").click();
  await s.page.goto(`${s.daemon.url}/settings/model`);
  await field("这台机器上的 Ollama").waitFor();
  await field("在线服务").check();
  await field("API 密钥").waitFor();
  await looks("chinese");
});
