/** A list that grows, and its newest copy: the same one until something changes. */
export class GrowingList<T> {
  #items: T[] = [];
  #copy: T[] | null = [];

  /** The list as it is: not to be kept. */
  get items(): readonly T[] {
    return this.#items;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#copy = null;
  }

  set(index: number, item: T): void {
    this.#items[index] = item;
    this.#copy = null;
  }

  /** A list that never changes. */
  snapshot(): T[] {
    this.#copy ??= this.#items.slice();
    return this.#copy;
  }
}
