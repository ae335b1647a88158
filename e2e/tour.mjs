// Takes the book's pictures from what the tests saw last: `npm run tour` after `npm test`.

import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PICTURES = {
  "chat/screen-chat-light": "chat",
  "chat/receipt": "receipt",
  "operations/turn-trace": "trace",
  "chat/memory-detail": "memory",
  "operations/conflicts": "conflicts",
  "first_visit/graph-light": "graph",
  "chat/screen-all-settings-light": "settings",
};

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
mkdirSync(at("../docs/book/pictures/"), { recursive: true });
for (const [seen, name] of Object.entries(PICTURES)) {
  copyFileSync(at(`results/${seen}.png`), at(`../docs/book/pictures/${name}.png`));
}
