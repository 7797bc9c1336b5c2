/**
 * The text of one channel, message by message in the order in which they appeared.
 *
 * Without an id, pieces belong to the last message that is not over; `complete` makes it over.
 */
export class MessageTexts {
  /** By the id of the message; those without one are numbered. */
  #texts = new Map<string | number, string>();
  #unnamed = 0;
  #unnamedIsOver = false;

  /** All messages, separated by empty lines. A single one, however long, is not copied. */
  get text(): string {
    const texts = [...this.#texts.values()];
    return texts.length > 1 ? texts.filter(Boolean).join("\n\n") : (texts[0] ?? "");
  }

  append(messageId: string | null, piece: string): void {
    if (!piece) return;
    if (messageId === null && this.#unnamedIsOver) {
      this.#unnamedIsOver = false;
      this.#unnamed += 1;
    }
    const key = messageId ?? this.#unnamed;
    this.#texts.set(key, (this.#texts.get(key) ?? "") + piece);
  }

  replace(messageId: string | null, text: string): void {
    this.#texts.set(messageId ?? this.#unnamed, text);
  }

  complete(messageId: string | null): void {
    if (messageId === null) this.#unnamedIsOver = true;
  }
}
