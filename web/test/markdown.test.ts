// @vitest-environment happy-dom
import { flushSync, mount, unmount } from "svelte";
import { expect, test } from "vitest";
import Markdown from "../src/chat/Markdown.svelte";
import { safeAddress } from "../src/chat/markdown";

function rendered(text: string): HTMLElement {
  const target = document.createElement("div");
  const shown = mount(Markdown, { target, props: { text } });
  flushSync();
  const copy = target.cloneNode(true) as HTMLElement;
  void unmount(shown);
  return copy;
}

test("Markdown becomes elements", () => {
  const shown = rendered("**猫** and *dog*, `x < 1`\n\n1. one\n2. two\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet a = 1;\n```");
  expect(shown.querySelector("strong")?.textContent).toBe("猫");
  expect(shown.querySelector("em")?.textContent).toBe("dog");
  expect(shown.querySelector("code")?.textContent).toBe("x < 1");
  expect([...shown.querySelectorAll("ol li")].map((item) => item.textContent)).toEqual(["one", "two"]);
  expect(shown.querySelector("blockquote")?.textContent).toBe("said");
  expect(shown.querySelector("td")?.textContent).toBe("1");
  expect(shown.querySelector("pre")?.textContent).toBe("let a = 1;");
});

test("text never becomes HTML", () => {
  const shown = rendered('<img src=x onerror=alert(1)> <script>alert(1)</script>\n\n<iframe src="https://example.com"></iframe>');
  expect(shown.querySelector("img, script, iframe")).toBeNull();
  expect(shown.textContent).toContain("<img src=x onerror=alert(1)>");
  expect(shown.textContent).toContain("<script>");
});

test("only safe links are followed, without a referrer", () => {
  const shown = rendered("[good](https://example.com/a) [bad](javascript:alert(1)) [worse](data:text/html,x) [here](/settings)");
  const links = [...shown.querySelectorAll("a")];
  expect(links.map((link) => link.getAttribute("href"))).toEqual(["https://example.com/a"]);
  expect(links[0]?.rel).toContain("noopener");
  expect(shown.textContent).toContain("[bad](javascript:alert(1))");
  expect(safeAddress(" javascript:alert(1)")).toBeNull();
  expect(safeAddress("mailto:a@example.com")).toBe("mailto:a@example.com");
});

test("an external image is a link, so that its server does not learn of the reader", () => {
  const shown = rendered("![a cat](https://example.com/cat.png)");
  expect(shown.querySelector("img")).toBeNull();
  expect(shown.querySelector("a")?.textContent).toBe("a cat");
});

test("line breaks and characters are kept", () => {
  const shown = rendered("first\nsecond &amp; 第三");
  expect(shown.querySelectorAll("br")).toHaveLength(1);
  expect(shown.textContent).toContain("second & 第三");
});
