// From an empty home to a remembered fact by each way of meeting a persona, beside the blank one of connect.test.mjs: a character
// card, pasted material, and conversations that were imported.

import assert from "node:assert/strict";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { startModel } from "./model.mjs";
import { story } from "./steps.mjs";

const FIRST_FACT_MS_MAX = 120_000;
const FACT = "我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。";
const CARD = {
  spec: "chara_card_v2",
  spec_version: "2.0",
  data: {
    name: "Wren",
    description: "{{char}} keeps a lighthouse and counts ships.",
    personality: "dry, patient",
    scenario: "{{user}} arrives with the evening boat.",
    first_mes: "You made it before the fog, {{user}}. Tea?",
    mes_example: "<START>\n{{user}}: Lonely here?\n{{char}}: Only when nobody asks.",
    alternate_greetings: ["The fog is early. So are you."],
    tags: [],
  },
};
const MATERIAL = "Wren keeps a lighthouse on the western cape. She is dry and patient and counts the ships. I am her cousin Ana and repair bicycles.";
const TALK = [
  { role: "user", content: "My sister Clara moved to Porto and I miss her so much.", timestamp: "2026-03-01T09:00:00Z" },
  { role: "assistant", content: "You could call her on Sunday.", timestamp: "2026-03-01T09:01:00Z" },
  { role: "user", content: "My grandfather died last week. I am so sad.", timestamp: "2026-03-01T09:02:00Z" },
  { role: "assistant", content: "I am sorry.", timestamp: "2026-03-01T09:03:00Z" },
];

let model = null;
let began = 0;

const s = story("doors", async () => {
  model = await startModel();
  const daemon = await startDaemon(DAEMON, { ...model.settings, ECHOVESSEL__SESSION__IDLE: "10m" });
  const stop = async () => {
    await daemon.stop();
    model.stop();
  };
  return { ...daemon, stop };
});
const { step, looks } = s;

const button = (name) => s.page.getByRole("button", { name, exact: true });

/** Says a fact, ends the conversation, and waits until it is in the timeline. */
async function remembersAFact() {
  await s.page.locator("#words").fill(FACT);
  await s.page.keyboard.press("Enter");
  const reply = s.page.locator('article[data-role="persona"][data-delivery="kept"]').filter({ hasText: FACT });
  await reply.waitFor();
  await s.page.getByTestId("remember-now").getByRole("button").click();
  await s.page.getByTestId("timeline").locator('li[data-kind="event"]').filter({ hasText: "小黑" }).first().waitFor();
}

function assertQuick() {
  const took = Date.now() - began;
  console.log(`from the door to a remembered fact: ${Math.round(took / 1000)} s`);
  assert.ok(took <= FIRST_FACT_MS_MAX, `${took} ms`);
}

step("imported conversations: the texts are drafted from what they left in memory", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  await s.page.evaluate(async (text) => {
    const ask = async (path, options) => {
      const response = await api(path, options);
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return response.json();
    };
    const form = new FormData();
    form.append("file", new File([text], "talk.json", { type: "application/json" }));
    const { run_id: id } = await ask("/api/admin/imports", { method: "POST", body: form });
    const headers = { "Content-Type": "application/json" };
    await ask(`/api/admin/imports/${id}/start`, { method: "POST", headers, body: JSON.stringify({ remember: true }) });
    for (let tries = 0; tries < 300; tries++) {
      if ((await ask(`/api/admin/imports/${id}`)).state === "done") return;
      await new Promise((next) => setTimeout(next, 100));
    }
    throw new Error("the import did not end");
  }, JSON.stringify(TALK));
  await s.page.goto(`${s.daemon.url}/onboarding`);
  await s.page.getByLabel("From imported conversations").check();
  await looks("import");
  await button("Create a draft").click();
  await s.page.getByText("This is a draft.").waitFor();
  assert.match(await s.page.getByLabel("Who the persona is").inputValue(), /share what goes on in their days/);
  await looks("import-draft");
});

step("a character card: its texts are filled in, its greeting is said first, and a fact is remembered", async () => {
  began = Date.now();
  await s.page.goto(`${s.daemon.url}/onboarding`);
  await s.page.getByLabel(/From material/).check();
  const file = { name: "wren.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(CARD)) };
  await s.page.locator('main input[type="file"]').setInputFiles(file);
  await s.page.getByText("You made it before the fog").waitFor();
  assert.match(await s.page.getByLabel("Who the persona is").inputValue(), /Wren keeps a lighthouse/);
  await looks("card");
  await button("Save and start").click();
  await s.page.getByRole("heading", { name: "Wren", level: 1 }).waitFor();
  const greeting = s.page.locator('article[data-role="persona"]').filter({ hasText: "You made it before the fog" });
  await greeting.first().waitFor();
  assert.equal(await greeting.count(), 1);
  await remembersAFact();
  assertQuick();
});

step("pasted material: all three drafted texts are shown and saved, and a fact is remembered", async () => {
  began = Date.now();
  await s.page.goto(`${s.daemon.url}/onboarding/new`);
  await s.page.getByLabel("Name", { exact: true }).fill("Cape");
  await s.page.getByLabel(/From material/).check();
  await s.page.getByLabel("Material", { exact: true }).fill(MATERIAL);
  await button("Create a draft").click();
  await s.page.getByText("This is a draft.").waitFor();
  const drafted = await s.page.getByLabel("Who the persona is").inputValue();
  assert.notEqual(drafted.trim(), "");
  await looks("material");
  await button("Save and start").click();
  await s.page.getByRole("heading", { name: "Cape", level: 1 }).waitFor();
  await remembersAFact();
  assertQuick();
  await s.page.goto(`${s.daemon.url}/settings/persona`);
  await s.page.waitForFunction((text) => document.querySelector("main textarea")?.value === text, drafted);
});
