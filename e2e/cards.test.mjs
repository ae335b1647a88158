// Character cards that the program writes, read by other people's libraries: JSON, the picture, the archive.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { CCardLib } from "@risuai/ccardlib";
import { strFromU8, unzipSync } from "fflate";
import { decode } from "png-chunk-text";
import extractChunks from "png-chunks-extract";

import { DAEMON, startDaemon } from "./daemon.mjs";

const TOKEN = "token-of-the-card-tests";
const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const CARD = {
  spec: "chara_card_v3",
  spec_version: "3.0",
  data: {
    name: "Wren Hallow",
    nickname: "Wren",
    description: "{{char}} keeps the light at a northern lighthouse.\nShe counts gulls with {{user}}.",
    personality: "dry, patient",
    scenario: "A gale.",
    first_mes: "The lamp is lit, {{user}}.",
    mes_example: "<START>\n{{user}}: Storm?\n{{char}}: By six.",
    alternate_greetings: ["从大陆回来了？", "Back?"],
    group_only_greetings: ["All aboard."],
    system_prompt: "Stay on the rock.",
    post_history_instructions: "Short sentences. {{original}}",
    creator_notes: "For long nights.",
    creator_notes_multilingual: { zh: "长夜之用" },
    creator: "Ann",
    character_version: "1.4",
    tags: ["sea", "灯塔"],
    source: ["https://cards.example/wren"],
    creation_date: 1700000000,
    modification_date: 1700000900,
    extensions: { talkativeness: "0.4", depth_prompt: { prompt: "Gulls cry.", depth: 4, role: "system" } },
    character_book: {
      name: "Coast",
      scan_depth: 6,
      extensions: {},
      entries: [
        {
          id: 1, keys: ["lamp", "灯"], secondary_keys: ["oil"], selective: true, comment: "lamp", name: "lamp",
          content: "@@depth 2\nThe lamp of {{char}} burns oil.", enabled: true, insertion_order: 5, constant: false,
          case_sensitive: false, use_regex: false, position: "before_char", priority: 3, extensions: { selectiveLogic: 0 },
        },
        { keys: ["/gull(s)?/i"], content: "The gulls are loud.", enabled: false, insertion_order: 9, use_regex: true, extensions: {} },
      ],
    },
  },
};

let daemon;
const headers = { Authorization: `Bearer ${TOKEN}` };
const exported = async (format) => {
  const answer = await fetch(`${daemon.url}/api/admin/export?format=${format}&persona_id=wren`, { headers });
  assert.equal(answer.status, 200, await answer.clone().text());
  return new Uint8Array(await answer.arrayBuffer());
};

before(async () => {
  const importCard = (home) => {
    const file = join(home, "..", `wren-${process.pid}.json`);
    writeFileSync(file, JSON.stringify(CARD));
    const program = fileURLToPath(new URL(DAEMON, import.meta.url));
    const settings = { ECHOVESSEL__LLM__PROVIDER: "offline", ECHOVESSEL__EMBEDDING__PROVIDER: "none" };
    execFileSync(program, ["--home", home, "import", file, "--persona", "wren", "--create", "--yes"], {
      env: { ...process.env, ...settings },
      stdio: "ignore",
    });
    rmSync(file);
  };
  daemon = await startDaemon(undefined, { ECHOVESSEL_TOKEN: TOKEN }, importCard);
  const form = new FormData();
  form.append("file", new Blob([PICTURE], { type: "image/png" }), "wren.png");
  const uploaded = await fetch(`${daemon.url}/api/admin/persona/avatar?persona_id=wren`, { method: "POST", headers, body: form });
  assert.equal(uploaded.status, 200, await uploaded.text());
});

after(async () => daemon?.stop());

test("the JSON is a card of version 3 with every field of the original", async () => {
  const card = JSON.parse(strFromU8(await exported("card")));
  assert.equal(CCardLib.character.check(card), "v3");
  assert.deepEqual(card, CARD);
});

test("the picture holds the card, for older programs too", async () => {
  const chunks = extractChunks(await exported("card-png"));
  const texts = chunks.filter((chunk) => chunk.name === "tEXt").map((chunk) => decode(chunk.data));
  const cardOf = (keyword) => {
    const found = texts.find((text) => text.keyword === keyword);
    return JSON.parse(Buffer.from(found.text, "base64").toString("utf8"));
  };
  assert.deepEqual(cardOf("ccv3"), CARD);
  assert.equal(CCardLib.character.check(cardOf("ccv3")), "v3");
  assert.equal(CCardLib.character.check(cardOf("chara")), "v2");
  assert.deepEqual(cardOf("chara").data, CARD.data);
  assert.equal(chunks.at(-1).name, "IEND");
});

test("the archive holds the card and its picture", async () => {
  const files = unzipSync(await exported("card-charx"));
  const { assets, ...data } = JSON.parse(strFromU8(files["card.json"])).data;
  assert.deepEqual(data, CARD.data);
  assert.equal(assets.length, 1);
  const { type, name, ext, uri } = assets[0];
  assert.deepEqual({ type, name, ext }, { type: "icon", name: "main", ext: "png" });
  assert.deepEqual(Buffer.from(files[uri.replace("embeded://", "")]), PICTURE);
});
