// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { channelName } from "../src/chat/channel_name";

test("imported bubbles carry the program's name", () => {
  expect(channelName("import-chatgpt-9f86d081884c7d65")).toBe("ChatGPT");
  expect(channelName("import-wechat-csv-9f86d081884c7d65")).toBe("WeChat");
  expect(channelName("import-jsonl-9f86d081884c7d65")).toBe("Imported");
  expect(channelName("import-9f86d081884c7d65")).toBe("Imported");
});
