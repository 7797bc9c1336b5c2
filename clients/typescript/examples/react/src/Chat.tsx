import { type FormEvent, useState } from "react";
import { useAgentStream } from "streamweir/react";
import { Part } from "./Part.js";
import { Question } from "./Question.js";

export function Chat({ url }: { url: string }) {
  const { messages, status, error, pendingInteractions, send, respond, retry, stop } = useAgentStream({
    url,
    protocol: "standard",
  });
  const [text, setText] = useState("");
  const isRunning = status === "submitted" || status === "streaming" || status === "reconnecting";

  function ask(event: FormEvent) {
    event.preventDefault();
    if (!text.trim() || isRunning) return;
    setText("");
    void send({ text: text.trim() });
  }

  return (
    <main>
      <h1>A chat in React</h1>
      <div role="log" aria-label="Conversation">
        {messages.map((message) =>
          message.role === "user" ? (
            <p key={message.id} className="user">
              {message.mainContent}
            </p>
          ) : (
            <div key={message.id}>
              {message.parts.map((part) => (
                <Part key={part.id} part={part} />
              ))}
            </div>
          ),
        )}
      </div>
      {error && (
        <div role="alert">
          {error.message}{" "}
          {error.recoverable && (
            <button type="button" onClick={() => void retry()}>
              Try again
            </button>
          )}
        </div>
      )}
      {pendingInteractions.map((asked) => (
        <Question key={asked.interaction_id} asked={asked} respond={respond} />
      ))}
      <form onSubmit={ask}>
        <input
          aria-label="Message"
          value={text}
          placeholder="Ask something, then Enter"
          onChange={({ target }) => setText(target.value)}
        />
        {isRunning && (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        )}
      </form>
    </main>
  );
}
