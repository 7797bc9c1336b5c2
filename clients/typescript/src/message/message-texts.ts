interface Message {
  text: string;
}

/**
 * The text of one channel, message by message in the order in which they appeared.
 *
 * Without an id, pieces belong to the last message that is not over; `complete` makes it over.
 */
export class MessageTexts {
  #messages: Message[] = [];
  #byId = new Map<string | null, Message>();
  #unnamedIsOver = false;

  /** All messages, separated by empty lines. */
  get text(): string {
    const [first] = this.#messages;
    if (this.#messages.length <= 1) return first?.text ?? "";
    return this.#messages
      .map(({ text }) => text)
      .filter(Boolean)
      .join("\n\n");
  }

  append(messageId: string | null, piece: string): void {
    if (!piece) return;
    if (messageId === null && this.#unnamedIsOver) {
      this.#unnamedIsOver = false;
      this.#byId.delete(null);
    }
    this.#message(messageId).text += piece;
  }

  replace(messageId: string | null, text: string): void {
    this.#message(messageId).text = text;
  }

  complete(messageId: string | null): void {
    if (messageId === null) this.#unnamedIsOver = true;
  }

  #message(messageId: string | null): Message {
    let message = this.#byId.get(messageId);
    if (!message) {
      message = { text: "" };
      this.#byId.set(messageId, message);
      this.#messages.push(message);
    }
    return message;
  }
}
