import { describe, expect, it } from "vitest";
import { isMapped, mappingOf, suggestedSides, withoutUnstarred } from "../src/imports/mapping";
import type { ImportPreview } from "../src/imports/requests";

const look = {
  speakers: [
    { name: "Nora", messages: 4, role: "other" },
    { name: "Milo", messages: 2, role: "persona" },
  ],
  speaker_count: 2,
  conversations: [{ id: "a" }, { id: "b" }],
  conversation_count: 2,
} as unknown as ImportPreview;

describe("the mapping of an import", () => {
  it("begins with what the format says", () => {
    expect(suggestedSides(look)).toEqual({ Nora: "other", Milo: "persona" });
    expect(isMapped({ Nora: "other" })).toBe(false);
  });

  it("names speakers, zone, day and the conversations that are left", () => {
    const sides = { Nora: "user", Milo: "persona" } as const;
    const mapping = mappingOf(look, { sides, zone: " Europe/Berlin ", since: "2024-03-01", without: new Set(["a"]) });
    expect(mapping).toEqual({
      user: ["Nora"],
      persona: ["Milo"],
      use_roles: false,
      zone: "Europe/Berlin",
      since: "2024-03-01",
      conversations: ["b"],
    });
  });

  it("leaves out what is not starred", () => {
    const conversations = [{ id: "a", starred: true }, { id: "b", starred: false }, { id: "c" }];
    expect(withoutUnstarred({ ...look, conversations } as unknown as ImportPreview)).toEqual(new Set(["b", "c"]));
  });

  it("takes everything by default, and leaves speakers that are not listed to the format", () => {
    const mapping = mappingOf({ ...look, speaker_count: 3 }, { sides: {}, zone: "", since: "", without: new Set() });
    expect(mapping).toEqual({ user: [], persona: [], use_roles: null, zone: null, since: null, conversations: null });
  });
});
