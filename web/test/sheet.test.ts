// @vitest-environment happy-dom
import { createRawSnippet, flushSync, mount, unmount } from "svelte";
import { expect, test, vi } from "vitest";
import Sheet from "../src/components/Sheet.svelte";

test("a sheet closes at once, and only once", () => {
  const closed = vi.fn();
  const children = createRawSnippet(() => ({ render: () => "<input type='file'>" }));
  const sheet = mount(Sheet, { target: document.body, props: { title: "A memory", onclose: closed, children } });
  flushSync();
  const dialog = document.querySelector("dialog")!;
  document.querySelector("input")!.dispatchEvent(new Event("cancel", { bubbles: true }));
  expect(closed).not.toHaveBeenCalled();
  dialog.dispatchEvent(new Event("cancel", { cancelable: true }));
  expect(closed).toHaveBeenCalledTimes(1);
  dialog.dispatchEvent(new Event("close"));
  expect(closed).toHaveBeenCalledTimes(1);
  void unmount(sheet);
});
