import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  // The package is linked: without this it would bring along the React of its own tests, and hooks need the same one.
  resolve: { dedupe: ["react", "react-dom"] },
});
