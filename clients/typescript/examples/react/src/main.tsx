import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Chat } from "./Chat.js";
import "./style.css";

const url = new URLSearchParams(location.search).get("url") ?? "http://127.0.0.1:8080/legacy";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <Chat url={url} />
  </StrictMode>,
);
