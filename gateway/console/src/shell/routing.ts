// The page's router.

import { Router } from "./router.js";
import { views } from "./view.js";

export const router = new Router(views);
