import { cutTo } from '@hermes-fleet/protocol';

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
  return cutTo(line, maxChars);
}

const HIDDEN_IN_LINE = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu;
const TAGS = /<(?=\/?(?:data|task|project-instructions)\b)/gi;

/** Renders a text of several lines so that it hides nothing, and cannot close the block around it. */
export const shownText = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(HIDDEN_IN_LINE, '').replace(TAGS, '‹').trim();

/** Marks lines as data that are not instructions. Each must be a `dataLine` or a `shownName`. */
export const dataBlock = (about: string, lines: readonly string[]): string =>
  `<data about="${about}">\n${lines.join('\n')}\n</data>`;
