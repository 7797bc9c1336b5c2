import type { View } from "../../shell/view.js";

export default {
  path: "/playground",
  element: "playground-view",
  title: "Playground",
  link: "Playground",
  order: 1,
  keys: [
    ["Enter", "Send the message"],
    ["Shift Enter", "Begin another line"],
  ],
  load: () => import("./playground-view.js"),
} satisfies View;
