// The message that a user saw, folded from events.

import { asText, isObject, type Json } from "./shapes.js";

/** A piece of the message. Pieces are not changed: an event replaces the one that it adds to. */
export type Part =
  | { readonly kind: "text" | "thinking"; readonly key: string; readonly channel: string; readonly text: string }
  | {
      readonly kind: "tool";
      readonly key: string;
      readonly name: string;
      readonly given: string;
      readonly state: string;
      readonly result: string;
    }
  | {
      readonly kind: "data" | "references" | "interaction" | "warning" | "error" | "gap";
      readonly title: string;
      readonly text: string;
    };

export interface Message {
  readonly parts: readonly Part[];
  /** The reason of the end; empty: it has not ended. */
  readonly end: string;
}

/** Folds events one after another. `fork` makes a copy that goes its own way. */
export class MessageFold {
  #parts: Part[] = [];
  /** The places of texts, thoughts and calls that may still grow, by their keys. */
  #open = new Map<string, number[]>();
  #end = "";

  get message(): Message {
    return { parts: this.#parts, end: this.#end };
  }

  fork(): MessageFold {
    const copy = new MessageFold();
    copy.#parts = [...this.#parts];
    copy.#open = new Map([...this.#open].map(([key, places]) => [key, [...places]]));
    copy.#end = this.#end;
    return copy;
  }

  addGap(): void {
    this.#parts.push({ kind: "gap", title: "", text: "Here a part of the stream was left out." });
  }

  add(event: Json): void {
    const data = isObject(event.data) ? event.data : {};
    const metadata = isObject(event.metadata) ? event.metadata : {};
    const message = asText(metadata.message_id) ?? "";
    switch (event.type) {
      case "content":
        return this.#addText("text", `${message}\n${asText(data.channel) ?? ""}`, data);
      case "thinking":
        return this.#addText("thinking", message, data);
      case "tool_call_start":
        return this.#addCall(data, { name: asText(data.tool_name), given: shown(data.arguments), state: "running" });
      case "tool_call_delta":
        return this.#addCall(data, { name: asText(data.tool_name), more: asText(data.arguments_delta) });
      case "tool_call_progress":
        return this.#addCall(data, { state: progressText(data) });
      case "tool_call_end":
        return this.#addCall(data, { state: asText(data.status), result: shown(data.error ?? data.result) });
      case "session_end":
        this.#end = [asText(data.status), asText(data.reason)].filter(Boolean).join(", ");
        return;
    }
    this.#addOther(event, data);
  }

  #addOther(event: Json, data: Json): void {
    const add = (kind: "data" | "references" | "interaction" | "warning" | "error", title: unknown, text: unknown) =>
      this.#parts.push({ kind, title: asText(title) ?? "", text: shown(text) });
    if (event.type === "data") add("data", data.data_type, data.data);
    else if (event.type === "reference") add("references", "References", citations(data.citations));
    else if (event.type === "interaction")
      add("interaction", data.title ?? data.kind, data.description ?? questions(data) ?? data.state);
    else if (event.type === "warning") add("warning", data.message_code, data.message);
    else if (event.type === "error") add("error", data.code, data.message);
  }

  #addText(kind: "text" | "thinking", id: string, data: Json): void {
    const piece = asText(data.content) ?? "";
    const key = `${kind}\n${id}`;
    const places = this.#open.get(key) ?? [];
    const last = places.at(-1);
    const before = last === undefined ? undefined : this.#parts[last];
    if (data.op === "replace") this.#empty(places.splice(0, places.length - 1));
    // A text behind something else is a piece of its own, so that the order is the one that the user saw.
    if (last !== undefined && before?.kind === kind && (data.op === "replace" || last === this.#parts.length - 1)) {
      this.#parts[last] = { ...before, text: data.op === "replace" ? piece : before.text + piece };
    } else if (piece) {
      this.#open.set(key, places);
      places.push(this.#parts.length);
      this.#parts.push({ kind, key, channel: asText(data.channel) ?? asText(data.stage) ?? "", text: piece });
    }
  }

  #empty(places: readonly number[]): void {
    for (const place of places) {
      const part = this.#parts[place];
      if (part?.kind === "text" || part?.kind === "thinking") this.#parts[place] = { ...part, text: "" };
    }
  }

  #addCall(
    data: Json,
    change: {
      name?: string | undefined;
      given?: string;
      more?: string | undefined;
      state?: string | undefined;
      result?: string;
    },
  ): void {
    const id = asText(data.tool_id) ?? "";
    const place = this.#open.get(`tool\n${id}`)?.[0] ?? this.#parts.length;
    const known = this.#parts[place];
    const before =
      known?.kind === "tool" ? known : { kind: "tool" as const, key: id, name: "", given: "", state: "", result: "" };
    this.#open.set(`tool\n${id}`, [place]);
    this.#parts[place] = {
      ...before,
      name: change.name || before.name,
      given: change.given ?? before.given + (change.more ?? ""),
      state: change.state ?? before.state,
      result: change.result ?? before.result,
    };
  }
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function progressText(data: Json): string {
  const share = typeof data.progress === "number" ? `${Math.round(data.progress * 100)} %` : "running";
  return [share, asText(data.message)].filter(Boolean).join(" ");
}

function citations(value: unknown): string {
  if (!Array.isArray(value)) return shown(value);
  return value.map((one) => (isObject(one) ? shown(one.title ?? one.url ?? one.id) : shown(one))).join("\n");
}

function questions(data: Json): string | undefined {
  if (!Array.isArray(data.questions)) return undefined;
  return data.questions.map((one) => (isObject(one) ? shown(one.text) : shown(one))).join("\n");
}
