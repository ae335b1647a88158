// Takes the book's pictures from what the tests saw last: `npm run tour` after `npm test`.

import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PICTURES = {
  "screen-chat-light": "chat",
  receipt: "receipt",
  "memory-detail": "memory",
  "screen-graph-light": "graph",
  "screen-all-settings-light": "settings",
};

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
mkdirSync(at("../docs/book/pictures/"), { recursive: true });
for (const [seen, name] of Object.entries(PICTURES)) {
  copyFileSync(at(`results/life/${seen}.png`), at(`../docs/book/pictures/${name}.png`));
}
