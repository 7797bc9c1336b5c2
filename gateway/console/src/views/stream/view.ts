import type { View } from "../../shell/view.js";

export default {
  path: "/streams/:id",
  element: "stream-view",
  title: "Stream",
  order: 1,
  keys: [
    ["↑ ↓ Home End", "Move in a lane"],
    ["← →", "Move to the lane beside it"],
  ],
  load: () => import("./stream-view.js"),
} satisfies View;
