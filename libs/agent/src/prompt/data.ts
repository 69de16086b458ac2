/** What steers a terminal, a parser or the direction of text, and what cannot be seen. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Text from disk or from elsewhere as one line of a data block, which it cannot leave. */
export function dataLine(text: string, maxChars: number): string {
  const line = text
    .slice(0, 4 * maxChars)
    .replace(HIDDEN, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .trim();
  return shortened(line, maxChars);
}

const PLAIN = /^[^\p{C}\p{Zl}\p{Zp}<>"\\`]+$/u;
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}<>`]/gu;

/** The name of a file or branch in one line: as it is where it is plain, else as a JSON string. */
export function dataName(name: string, maxChars: number): string {
  const short = shortened(name, maxChars);
  if (PLAIN.test(short)) return short;
  return JSON.stringify(short).replace(UNSAFE, (char) =>
    [...Array(char.length).keys()]
      .map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Lines that say something and order nothing; each is a `dataLine` or a `dataName`. */
export const dataBlock = (about: string, lines: readonly string[]): string =>
  `<data about="${about}">\n${lines.join('\n')}\n</data>`;

const shortened = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text;
