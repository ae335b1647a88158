// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { getDocuments, getVersions, restoreVersion } from "../src/documents/requests";

const asked: string[] = [];

/** A daemon that gives its answers one after the other. */
function answering(...answers: object[]) {
  asked.length = 0;
  vi.stubGlobal("fetch", async (address: string) => {
    asked.push(address);
    return new Response(JSON.stringify(answers.shift()));
  });
}

afterEach(() => vi.unstubAllGlobals());

test("all pages of documents are listed", async () => {
  answering({ documents: [{ filename: "a.md" }], next_cursor: "x/1" }, { documents: [{ filename: "b.md" }], next_cursor: null });
  expect((await getDocuments()).map(({ filename }) => filename)).toEqual(["a.md", "b.md"]);
  expect(asked).toEqual(["/api/hub/documents?limit=200", "/api/hub/documents?cursor=x%2F1&limit=200"]);
});

test("only a document's name is sent in the path", async () => {
  const document = { kind: "custom", filename: "二.md", version: 3, prompt_label: "x" };
  answering({ versions: [], next_cursor: null }, {});
  await getVersions(document);
  await restoreVersion(document, 2);
  const place = `/api/hub/documents/custom/${encodeURIComponent("二.md")}/versions`;
  expect(asked).toEqual([`${place}?limit=200`, `${place}/2/restore`]);
});
