// Texts as words of a POSIX shell.

/** Returns a text as one word: in quotes, each of its own quotes escaped. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
