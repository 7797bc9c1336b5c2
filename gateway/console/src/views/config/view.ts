import type { View } from "../../shell/view.js";

export default {
  path: "/config",
  element: "config-view",
  title: "Configuration",
  link: "Configuration",
  order: 2,
  keys: [["/", "Filter the values"]],
  load: () => import("./config-view.js"),
} satisfies View;
