import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// `npm run dev` shows the page against a daemon (or the mock) that already runs.
const daemon = process.env.ECHOVESSEL_URL ?? "http://127.0.0.1:7777";

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2022",
    // `light-dark()` is read by the browser, so that the reader's choice of theme needs no second set of colours.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The page is served with `default-src 'self'`: everything is a file of its own.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // The daemon takes changes only from the origin that it is asked by, so the host stays as the browser said it.
  server: { proxy: { "/api": { target: daemon, changeOrigin: false }, "/login": { target: daemon, changeOrigin: false } } },
  // Components are tested as a browser would load them.
  resolve: process.env.VITEST ? { conditions: ["browser"] } : undefined,
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
