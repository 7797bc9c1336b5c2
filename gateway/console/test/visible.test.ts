import { expect, test } from "vitest";
import { visibleLine, visibleText } from "../src/text/visible.js";

test("line with control characters shows symbols", () => {
  expect(visibleLine("a\u0000b\u001b[31m\r\n\t\u007f")).toBe("a␀b␛[31m␍␊␉␡");
});

test("line with direction characters shows their names", () => {
  expect(visibleLine("\u202eevil\u2066\u200f")).toBe("⟨RLO⟩evil⟨LRI⟩⟨RLM⟩");
});

test("text keeps its lines and tabs only", () => {
  expect(visibleText("a\r\nb\tc\rd\u2028")).toBe("a\nb\tc␍d⟨LS⟩");
});

test("emoji and characters of other scripts are unchanged", () => {
  for (const text of ["👩‍👩‍👧", "订单 📦", "שלום", "é"]) expect(visibleText(text)).toBe(text);
});

test("every control and format character has a symbol", () => {
  for (let code = 0; code < 0x110000; code++) {
    if (code === 0x200d || (code >= 0xd800 && code < 0xe000)) continue;
    const character = String.fromCodePoint(code);
    if (/[\p{Cc}\p{Bidi_Control}]/u.test(character))
      expect(visibleLine(character), code.toString(16)).not.toBe(character);
  }
  expect(visibleLine("\ud83d.")).toBe("⟨U+D83D⟩.");
});
