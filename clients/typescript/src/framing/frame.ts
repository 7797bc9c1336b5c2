/** One event as its framing gives it, before its JSON is read. */
export interface Frame {
  data: string;
  /** The `event:` field of SSE. */
  event: string | null;
  /** The last `id:` of SSE up to here. */
  id: string | null;
  /** It lacks its line end: the body has ended within it or right behind it. */
  unterminated: boolean;
}

/** Thrown by a parser whose event is larger than allowed. */
export class TooLarge extends Error {}
