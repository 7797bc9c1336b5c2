import type { View } from "../../shell/view.js";

export default {
  path: "/dialects",
  element: "dialects-view",
  title: "Dialects",
  link: "Dialects",
  order: 3,
  keys: [
    ["↑ ↓ ← →", "Move in the table"],
    ["Home End", "Go to the first and last cell of the row"],
  ],
  load: () => import("./dialects-view.js"),
} satisfies View;
