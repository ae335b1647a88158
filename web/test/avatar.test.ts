import { expect, test } from "vitest";
import { initialOf, tintOf, TINTS } from "../src/components/initial";
import { imageExtension, fitSize } from "../src/settings/avatar_image";

const bytes = (text: string) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));

test("a name is drawn by its first grapheme", () => {
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

test("an image type is recognised by its bytes", () => {
  expect(imageExtension(bytes("\x89PNG\r\n\x1a\n...."))).toBe("png");
  expect(imageExtension(bytes("\xff\xd8\xff\xe0"))).toBe("jpg");
  expect(imageExtension(bytes("GIF89a"))).toBe("gif");
  expect(imageExtension(bytes("RIFF\x00\x00\x00\x00WEBPVP8 "))).toBe("webp");
  expect(imageExtension(bytes("RIFF\x00\x00\x00\x00WAVE"))).toBeNull();
  expect(imageExtension(bytes("<svg onload=…>"))).toBeNull();
  expect(imageExtension(bytes(""))).toBeNull();
});

test("an image is scaled down in proportion, never up", () => {
  expect(fitSize(4_000, 3_000)).toEqual({ width: 1_024, height: 768 });
  expect(fitSize(100, 50)).toEqual({ width: 100, height: 50 });
  expect(fitSize(10_000, 1)).toEqual({ width: 1_024, height: 1 });
});
