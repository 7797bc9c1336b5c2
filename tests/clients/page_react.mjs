// Renders a page without a browser, presses its button, and prints what it shows when the answer is there.

import { createElement } from "react";
import { act, create } from "react-test-renderer";
import { Page } from "./page.mjs";

globalThis.IS_REACT_ACT_ENVIRONMENT = true;
const root = create(createElement(Page));
const button = () => root.root.findByType("button");
const shown = () => root.root.findAllByType("p").map((line) => line.children.join("")).join("\n");

await act(() => button().props.onClick());
for (let tries = 0; tries < 200; tries++) {
  await act(() => new Promise((resolve) => setTimeout(resolve, 50)));
  if (["ready", "error"].includes(button().children.join("")) && shown().includes("assistant")) break;
}
console.log(shown());
console.log(button().children.join(""));
process.exit(0);
