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

/** Cuts the bytes or the text of one body into frames, wherever the network has cut them. Does no I/O. */
export interface FrameParser {
  feed(chunk: Uint8Array | string): void;
  /** The body has ended: its last line or block counts without its end. */
  finish(): void;
  /** The body holds text, and none of it has the form of a stream. */
  isForeign(): boolean;
}

const FIELDS = ["data", "event", "id", "retry"];
const LINE_END = /\r\n|\r|\n/;

/** Whether a line is nothing but the brackets with which printed JSON begins. */
const isOpening = (line = ""): boolean => /^[[{]\s*\{?\s*$/.test(line);

/**
 * Makes a parser that calls `take` with each frame, until `take` returns false. `limit`: the most characters of an event.
 * `fail` is called, and has to throw, after the frames before an event that is larger, and for HTML or XML.
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
 * | `markup`   | it is `<`                                                | (it fails)          |
 */
export function createFrameParser(
  limit: number,
  take: (frame: Frame) => boolean,
  fail: (code: "STREAM_LIMIT_EXCEEDED" | "UPSTREAM_INVALID_RESPONSE") => never,
): FrameParser {
  const decoder = new TextDecoder();
  let mode = "";
  let isRecognised = false;
  let isGoing = true;
  let hasLine = false;
  /** The last piece ended with CR: a LF at the start of the next one belongs to it. */
  let isAfterCr = false;
  /** The line that has begun. */
  let rest = "";
  /** The event that has begun, and the length of its data. */
  let data: string[] = [];
  let size = 0;
  let event: string | null = null;
  let id: string | null = null;

  const addData = (line: string): void => {
    size += line.length + 1;
    if (size > limit) fail("STREAM_LIMIT_EXCEEDED");
    data.push(line);
  };

  const dispatch = (unterminated: boolean): void => {
    if (!data.length && event === null) return;
    const frame = { data: data.join("\n"), event, id, unterminated };
    data = [];
    event = null;
    size = 0;
    isGoing = take(frame);
  };

  const takeField = (line: string): void => {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) as RegExpExecArray;
    if (name && !FIELDS.includes(name)) {
      if (isOpening(data[0])) addData(line);
      return;
    }
    isRecognised = true;
    if (name === "data") addData(value);
    else if (name === "event") event = value || null;
    else if (name === "id" && !value.includes("\0")) id = value || null;
  };

  const takeJson = (line: string, isLast: boolean): void => {
    const bare = line.trim().replace(/^data:\s*/, "");
    if (!bare || bare[0] === ":") return;
    addData(bare);
    if (!hasLine && isOpening(bare)) mode = "document";
    else dispatch(isLast);
    hasLine = true;
  };

  const takeLine = (line: string, isLast: boolean): void => {
    if (mode === "json") takeJson(line, isLast);
    else if (mode === "document") addData(line);
    else if (line) takeField(line);
    else dispatch(false);
  };

  const feed = (chunk: Uint8Array | string): void => {
    let text = typeof chunk === "string" ? decoder.decode() + chunk : decoder.decode(chunk, { stream: true });
    if (!text) return;
    if (!mode) {
      text = text.replace(/^\uFEFF/, "");
      const [first] = /\S/.exec(text) ?? [];
      if (first) mode = first === "<" ? "markup" : first === "{" || first === "[" ? "json" : "sse";
    }
    if (mode === "markup") fail("UPSTREAM_INVALID_RESPONSE");
    if (isAfterCr && text[0] === "\n") text = text.slice(1);
    isAfterCr = text.endsWith("\r");
    rest += text;
    if (LINE_END.test(text)) {
      const lines = rest.split(LINE_END);
      rest = lines.pop() as string;
      for (const line of lines) if (isGoing) takeLine(line, false);
    }
    if (isGoing && rest.length + size > limit) fail("STREAM_LIMIT_EXCEEDED");
  };

  const finish = (): void => {
    const last = rest + decoder.decode();
    if (last) takeLine(last, true);
    isRecognised ||= last !== "" && FIELDS.some((name) => `${name}:`.startsWith(last));
    dispatch(true);
  };

  return {
    feed,
    finish,
    isForeign: () => mode === "sse" && !isRecognised,
  };
}
