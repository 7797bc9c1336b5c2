import type { View } from "../../shell/view.js";

export default {
  path: "/",
  element: "live-view",
  title: "Live",
  link: "Live",
  order: 0,
  keys: [
    ["/", "Filter"],
    ["↑ ↓ Home End", "Move among the streams"],
    ["Enter", "Open the stream"],
    ["p", "Pause and resume"],
  ],
  load: () => import("./live-view.js"),
} satisfies View;
