/** Cuts a text to so many characters, never within one. */
export const cutTo = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '')}…` : text;

const PLAIN = /^[^\p{C}\p{Zl}\p{Zp}<>"\\`]+$/u;
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}<>`]/gu;

/**
 * Renders the name of a file or branch in one line: a plain name as it is; any other, such as one with a line break or an escape
 * sequence, as a JSON string.
 */
export function shownName(name: string, maxChars: number): string {
  const short = cutTo(name, maxChars);
  if (PLAIN.test(short)) return short;
  return JSON.stringify(short).replace(UNSAFE, (char) =>
    [...Array(char.length).keys()]
      .map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
