// Runs a page that prints what it gets.

await import("./page.mjs");
