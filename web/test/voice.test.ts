import { describe, expect, test } from "vitest";
import { levelOf, wavOf } from "../src/voice/wav";

describe("sound", () => {
  test("is written as WAV of 16 bits", async () => {
    const bytes = new Uint8Array(await wavOf(Float32Array.from([0, 1, -1, 2, 0.5]), 16_000).arrayBuffer());
    const view = new DataView(bytes.buffer);
    expect(new TextDecoder().decode(bytes.subarray(0, 4))).toBe("RIFF");
    expect([view.getUint32(24, true), view.getUint16(34, true), view.getUint32(40, true)]).toEqual([16_000, 16, 10]);
    const samples = [0, 1, 2, 3, 4].map((index) => view.getInt16(44 + index * 2, true));
    expect(samples).toEqual([0, 32_767, -32_767, 32_767, 16_384]);
  });

  test("has a level between silence and full scale", () => {
    expect(levelOf(new Float32Array(64))).toBe(0);
    expect(levelOf(new Float32Array(64).fill(1))).toBe(1);
    const quiet = levelOf(new Float32Array(64).fill(0.01));
    expect(quiet).toBeGreaterThan(0.2);
    expect(quiet).toBeLessThan(0.5);
  });
});
