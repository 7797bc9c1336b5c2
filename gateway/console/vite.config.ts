import { defineConfig } from "vite";

export default defineConfig({
  base: "/",
  build: {
    outDir: "../streamweir_gateway/console/static",
    emptyOutDir: true,
    target: "es2022",
    // The page's policy allows neither inline scripts nor inline styles.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    license: true,
  },
});
