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

/** Thrown where an event is larger than allowed, after all events before it. */
export const TOO_LARGE = Symbol("too large");

/** Cuts the bytes or the text of one body into frames, wherever the network has cut them. Does no I/O. */
export interface FrameParser {
  feed(chunk: Uint8Array | string): void;
  /** The body has ended: its last line or block counts without its end. */
  finish(): void;
  /** The body is HTML or XML: it can be no stream. */
  isMarkup(): boolean;
  /** Something of what came is a stream's, whether or not an event could be read. */
  isRecognised(): boolean;
}

const FIELDS = ["data", "event", "id", "retry"];
const LINE_END = /\r\n|\r|\n/;

/** Whether a line is nothing but the brackets with which printed JSON begins. */
const isOpening = (line: string | undefined): boolean => /^[[{]\s*\{?\s*$/.test(line ?? "");

/**
 * Makes a parser that calls `take` with each frame, until `take` returns false. `limit`: the most characters of an event.
 *
 * Event streams are read by the WHATWG's rules (HTML, 9.2.6). Differences that are meant: the last block counts without
 * its blank line, a block with nothing but an event name is a frame without data, and lines behind an opening bracket
 * that are no fields belong to its data.
 *
 * | mode       | set by                                                   | a frame is          |
 * |------------|----------------------------------------------------------|---------------------|
 * | (none)     | construction                                             |                     |
 * | `sse`      | the first character that is no blank is none of the below | a block             |
 * | `json`     | it is a bracket                                          | a line              |
 * | `document` | the first line is nothing but an opening bracket         | the whole body      |
 * | `markup`   | it is `<`                                                | nothing             |
 */
export function createFrameParser(limit: number, take: (frame: Frame) => boolean): FrameParser {
  const decoder = new TextDecoder();
  let mode = "";
  let isRecognised = false;
  let isGoing = true;
  let hasText = false;
  let hasLine = false;
  /** The last piece ended with CR, so that a LF at the start of the next one belongs to it. */
  let isAfterCr = false;
  /** Pieces of the line that has begun, and how long they are together. */
  let pieces: string[] = [];
  let pending = 0;
  /** The event that has begun, and how long its lines are. */
  let data: string[] = [];
  let event: string | null = null;
  let id: string | null = null;
  let size = 0;

  const dispatch = (unterminated: boolean): void => {
    if (!data.length && event === null) return;
    const frame = { data: data.join("\n"), event, id, unterminated };
    data = [];
    event = null;
    size = 0;
    isGoing = take(frame);
  };

  const field = (line: string): void => {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) as RegExpExecArray;
    if (name && !FIELDS.includes(name)) {
      if (isOpening(data[0])) data.push(line);
      return;
    }
    isRecognised = true;
    if (name === "data") data.push(value);
    else if (name === "event") event = value || null;
    else if (name === "id" && !value.includes("\0")) id = value || null;
    else if (!data.length) size = 0;
  };

  const takeLine = (line: string, isLast: boolean): void => {
    if (mode !== "json") {
      if (!line && mode !== "document") return dispatch(false);
      size += line.length + 1;
      if (size > limit) throw TOO_LARGE;
      if (mode === "document") data.push(line);
      else field(line);
      return;
    }
    if (line.length > limit) throw TOO_LARGE;
    const bare = line.trim().replace(/^data:\s*/, "");
    if (!bare || bare[0] === ":") return;
    data = [bare];
    if (!hasLine && isOpening(bare)) mode = "document";
    else dispatch(isLast);
    hasLine = true;
  };

  const feed = (chunk: Uint8Array | string): void => {
    let text = typeof chunk === "string" ? decoder.decode() + chunk : decoder.decode(chunk, { stream: true });
    if (!text) return;
    if (!hasText || (isAfterCr && text[0] === "\n")) text = text.replace(hasText ? "\n" : /^\uFEFF/, "");
    hasText = true;
    isAfterCr = false;
    const first = mode || /\S/.exec(text)?.[0];
    if (!mode && first) mode = first === "{" || first === "[" ? "json" : first === "<" ? "markup" : "sse";
    if (mode === "markup") return;
    pieces.push(text);
    pending += text.length;
    if (LINE_END.test(text)) {
      const lines = pieces.join("").split(LINE_END);
      const rest = lines.pop() as string;
      isAfterCr = text.endsWith("\r");
      pieces = [rest];
      pending = rest.length;
      for (const line of lines) if (isGoing) takeLine(line, false);
    }
    if (isGoing && pending + size > limit) throw TOO_LARGE;
  };

  const finish = (): void => {
    const rest = pieces.join("") + decoder.decode();
    if (rest) takeLine(rest, true);
    isRecognised ||= rest !== "" && FIELDS.some((name) => `${name}:`.startsWith(rest));
    if (mode !== "markup") dispatch(true);
  };

  return {
    feed,
    finish,
    isMarkup: () => mode === "markup",
    isRecognised: () => isRecognised || mode === "json" || mode === "document",
  };
}
