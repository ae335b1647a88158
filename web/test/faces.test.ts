import { expect, test } from "vitest";
import { initialOf, tintOf, TINTS } from "../src/parts/initial";
import { extensionOf, fitted } from "../src/settings/picture";

const bytes = (text: string) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));

test("a name is drawn by its first sign", () => {
  expect(initialOf("echo")).toBe("E");
  expect(initialOf(" 小鱼")).toBe("小");
  expect(initialOf("👩‍🚀 Sally")).toBe("👩‍🚀");
  expect(initialOf("  ")).toBe("?");
});

test("a persona keeps its colour, and personas differ", () => {
  expect(tintOf("default")).toBe(tintOf("default"));
  const seen = new Set(Array.from({ length: 40 }, (_, n) => tintOf(`persona-${n}`)));
  expect(seen.size).toBe(TINTS.length);
});

test("a picture is what its bytes say", () => {
  expect(extensionOf(bytes("\x89PNG\r\n\x1a\n...."))).toBe("png");
  expect(extensionOf(bytes("\xff\xd8\xff\xe0"))).toBe("jpg");
  expect(extensionOf(bytes("GIF89a"))).toBe("gif");
  expect(extensionOf(bytes("RIFF\x00\x00\x00\x00WEBPVP8 "))).toBe("webp");
  expect(extensionOf(bytes("RIFF\x00\x00\x00\x00WAVE"))).toBeNull();
  expect(extensionOf(bytes("<svg onload=…>"))).toBeNull();
  expect(extensionOf(bytes(""))).toBeNull();
});

test("a picture is made smaller in proportion, never larger", () => {
  expect(fitted(4_000, 3_000)).toEqual({ width: 1_024, height: 768 });
  expect(fitted(100, 50)).toEqual({ width: 100, height: 50 });
  expect(fitted(10_000, 1)).toEqual({ width: 1_024, height: 1 });
});
