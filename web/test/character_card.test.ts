import { expect, test } from "vitest";
import { blocksOf, cardInPng, parseCard } from "../src/onboarding/character_card";

const fields = {
  name: "小鱼",
  description: "{{char}}在海边长大。",
  personality: "直率，爱笑",
  scenario: "{{user}}和{{char}}是邻居。",
  first_mes: "嗨！",
  mes_example: "<START>\n{{user}}: 在吗\n{{char}}: 在呀",
  character_book: { entries: [{}, {}] },
};
const v2 = JSON.stringify({ spec: "chara_card_v2", spec_version: "2.0", data: fields });
const v3 = JSON.stringify({ spec: "chara_card_v3", data: { ...fields, name: "小鱼三" } });
const labels = { personality: "性格：", scenario: "场景：" };

/** A PNG with text chunks and nothing to draw. (Check sums are not read.) */
function png(...texts: [keyword: string, text: string][]): Uint8Array {
  const chunk = (type: string, data: Uint8Array) => {
    const framed = new Uint8Array(12 + data.length);
    new DataView(framed.buffer).setUint32(0, data.length);
    framed.set(new TextEncoder().encode(type), 4);
    framed.set(data, 8);
    return framed;
  };
  const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  const chunks = texts.map(([keyword, text]) => chunk("tEXt", new TextEncoder().encode(`${keyword}\0${base64(text)}`)));
  const parts = [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), chunk("IHDR", new Uint8Array(13)), ...chunks];
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

test("cards of every version are read as cards", () => {
  expect(parseCard(v2)?.name).toBe("小鱼");
  expect(parseCard(v3)?.name).toBe("小鱼三");
  expect(parseCard(JSON.stringify(fields))?.bookEntries).toBe(2);
});

test("other text is not a card", () => {
  expect(parseCard("小鱼在海边长大。")).toBeNull();
  expect(parseCard('{"name": "echovessel-web", "version": "0.1.0"}')).toBeNull();
  expect(parseCard("[1, 2]")).toBeNull();
  expect(parseCard('{"spec": "chara_card_v2", "data": null}')).toBeNull();
});

test("a card fills the persona and how it talks, and nothing about the user", () => {
  expect(blocksOf(parseCard(v2)!, labels, "用户")).toEqual({
    persona: "小鱼在海边长大。\n\n性格：直率，爱笑\n\n场景：用户和小鱼是邻居。",
    style: "用户: 在吗\n小鱼: 在呀",
    shortened: false,
  });
  const long = blocksOf({ ...parseCard(v2)!, description: "海".repeat(6_000) }, labels, "用户");
  expect([[...long.persona].length, long.shortened]).toEqual([5_000, true]);
});

test("a card inside a PNG is found, the newer version first", () => {
  expect(cardInPng(png(["chara", v2]))?.name).toBe("小鱼");
  expect(cardInPng(png(["chara", v2], ["ccv3", v3]))?.name).toBe("小鱼三");
  expect(cardInPng(png(["Comment", "made with care"]))).toBeNull();
});

test("a damaged PNG is an image without a card", () => {
  const damaged = png(["chara", v2]);
  expect(cardInPng(damaged.slice(0, damaged.length - 40))).toBeNull();
  expect(cardInPng(png(["chara", "not a card"]))).toBeNull();
  expect(cardInPng(new Uint8Array(3))).toBeNull();
});
