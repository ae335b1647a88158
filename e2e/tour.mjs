// Takes the book's pictures from what the tests saw last: `npm run tour` after `npm test`.

import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PICTURES = {
  "life/screen-chat-light": "chat",
  "life/receipt": "receipt",
  "care/turn-trace": "trace",
  "life/memory-detail": "memory",
  "care/conflicts": "conflicts",
  "page/graph-light": "graph",
  "life/screen-all-settings-light": "settings",
};

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
mkdirSync(at("../docs/book/pictures/"), { recursive: true });
for (const [seen, name] of Object.entries(PICTURES)) {
  copyFileSync(at(`results/${seen}.png`), at(`../docs/book/pictures/${name}.png`));
}
