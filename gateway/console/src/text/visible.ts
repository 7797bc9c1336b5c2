// Hostile text made visible: characters that control a terminal, hide, or turn the direction of what is around them are
// shown as symbols, so that a text looks like its characters.

const NAMES: Readonly<Record<number, string>> = {
  173: "SHY",
  1564: "ALM",
  6158: "MVS",
  8203: "ZWSP",
  8204: "ZWNJ",
  8206: "LRM",
  8207: "RLM",
  8232: "LS",
  8233: "PS",
  8234: "LRE",
  8235: "RLE",
  8236: "PDF",
  8237: "LRO",
  8238: "RLO",
  8288: "WJ",
  8294: "LRI",
  8295: "RLI",
  8296: "FSI",
  8297: "PDI",
  65279: "BOM",
};

// A zero-width joiner stays: it belongs to emoji. Tags (U+E0000...) and lone halves of characters do not.
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

function symbol(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\u27e8${NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}\u27e9`;
}

/** Returns a text for one line: line ends and tabs are symbols too. */
export function visibleLine(text: string): string {
  return text.replace(HIDDEN, symbol);
}

/** Returns a text for many lines: line ends and tabs stay. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(HIDDEN, (found) => (found === "\n" || found === "\t" ? found : symbol(found)));
}
