/** Control and format characters, line separators, and everything else that is invisible. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Renders untrusted text as one line that cannot close the data block around it. */
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

/** Renders the name of a file or branch in one line: a plain name as it is, any other as a JSON string. */
export function dataName(name: string, maxChars: number): string {
  const short = shortened(name, maxChars);
  if (PLAIN.test(short)) return short;
  return JSON.stringify(short).replace(UNSAFE, (char) =>
    [...Array(char.length).keys()]
      .map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

const HIDDEN_IN_LINE = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu;
const TAGS = /<(?=\/?(?:data|task|project-instructions)\b)/gi;

/** Renders a text of several lines so that it hides nothing, and cannot close the block around it. */
export const shownText = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(HIDDEN_IN_LINE, '').replace(TAGS, '‹').trim();

/** Marks lines as data that are not instructions. Each must be a `dataLine` or a `dataName`. */
export const dataBlock = (about: string, lines: readonly string[]): string =>
  `<data about="${about}">\n${lines.join('\n')}\n</data>`;

const shortened = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text;
