import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { type AgentStream, createAgentStream } from "streamweir";
import { useAgentStream } from "streamweir/react";

declare global {
  interface Window {
    /** What the test drives and looks at. */
    seen: { renders: number; texts: Set<string>; functions: Set<unknown>; tokens: string[] };
    setShown: (isShown: boolean) => void;
    setToken: (token: string) => void;
    shared: AgentStream;
  }
}

window.seen = { renders: 0, texts: new Set(), functions: new Set(), tokens: [] };
const url = "/stream";

/** Asks as soon as it is there: strict mode runs the effect twice. */
function Asks({ token }: { token: string }) {
  const { messages, status, send, stop } = useAgentStream({ url, headers: { "X-Token": token }, throttle: 16 });
  useEffect(() => void send("Hi"), [send]);
  window.seen.renders += 1;
  window.seen.functions.add(send);
  const text = messages.map(({ mainContent }) => mainContent).join("|");
  window.seen.texts.add(text);
  return (
    <div>
      <p id="text">{text}</p>
      <p id="status">{status}</p>
      <button type="button" id="again" onClick={() => void send("Again")} />
      <button type="button" id="stop" onClick={() => void stop()} />
    </div>
  );
}

window.shared = createAgentStream({ url });

function Shared({ id }: { id: string }) {
  const { messages } = useAgentStream(window.shared);
  return <p id={id}>{messages.map(({ mainContent }) => mainContent).join("|")}</p>;
}

function App() {
  const [isShown, setShown] = useState(true);
  const [token, setToken] = useState("one");
  window.setShown = setShown;
  window.setToken = setToken;
  return (
    <>
      {isShown && <Asks token={token} />}
      <Shared id="first" />
      {isShown && <Shared id="second" />}
    </>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
