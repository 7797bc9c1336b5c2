// The message after any event. Copies of the fold are kept on the way, so that no step folds the whole stream again.

import type { Capture } from "./capture.js";
import { eventOf } from "./item-text.js";
import { type Message, MessageFold } from "./message.js";

const STEP = 2000;

export class MessageHistory {
  readonly #capture: Capture;
  /** After so many steps of events, the fold. The first one is empty. */
  readonly #kept: MessageFold[] = [new MessageFold()];
  /** The fold that was asked for last, and the number of events in it. */
  #last = new MessageFold();
  #count = 0;

  constructor(capture: Capture) {
    this.#capture = capture;
  }

  /** Returns the message after the event at a place; -1: before the first one. It holds until the next call. */
  after(place: number): Message {
    const wanted = Math.min(place + 1, this.#capture.items.event.length);
    const step = Math.min(this.#kept.length - 1, Math.floor(wanted / STEP));
    if (this.#count > wanted || this.#count < step * STEP) {
      this.#last = (this.#kept[step] as MessageFold).fork();
      this.#count = step * STEP;
    }
    while (this.#count < wanted) this.#addNext();
    return this.#last.message;
  }

  #addNext(): void {
    const item = this.#capture.items.event[this.#count];
    if (this.#capture.gaps.has(this.#count)) this.#last.addGap();
    if (item) this.#last.add(eventOf(item));
    this.#count++;
    if (this.#count % STEP === 0 && this.#count / STEP === this.#kept.length) this.#kept.push(this.#last.fork());
  }
}
