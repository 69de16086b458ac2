import { createHash } from 'node:crypto';
import { linesOf } from '../../messages/text.ts';

/** Longer lines are known by their hash alone. */
const MAX_RAW = 48;
const HASH = 12;
/** The length of a mark in a file's content. */
const SHORT = 6;
/** A fragment of a line stands for the line if it has this share of its characters, and so many of them. */
const MIN_SHARE = 0.4;
const MIN_CHARS = 4;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Identifies a text. */
export const idOf = (...parts: readonly string[]): string =>
  digest(parts.map((part) => `${part.length}:${part}`).join('')).slice(0, HASH);

/** Identifies a line, whatever its indentation: the line itself if it is short, else its hash. */
function markOf(line: string): string {
  const plain = line.trim().replace(/\s+/g, ' ');
  return plain.length <= MAX_RAW && !plain.startsWith('#:') ? plain : `#:${digest(plain).slice(0, HASH)}`;
}

/** The mark that a file's content holds for a line. */
export const shortOf = (mark: string): string =>
  mark.startsWith('#:') ? mark.slice(2, 2 + SHORT) : digest(mark).slice(0, SHORT);

export const fromShort = (short: string): string => `#:${short}`;

/** Marks of the first lines that say something: brackets and blank lines are in every file. */
export const marksOf = (text: string, max: number): string[] =>
  linesOf(text)
    .filter((line) => /[\p{L}\p{N}]/u.test(line))
    .take(max)
    .map(markOf)
    .toArray();

/** True if both marks stand for the same line, or one for a fragment of the other's line. */
function isSameLine(a: string, b: string): boolean {
  if (a === b || shortOf(a) === shortOf(b)) return true;
  if (a.startsWith('#:') || b.startsWith('#:')) return false;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= MIN_CHARS && short.length >= MIN_SHARE * long.length && long.includes(short);
}

/** True if each line of one list is in the other one, and both are not empty. */
export const areAlike = (a: readonly string[], b: readonly string[]): boolean =>
  a.length > 0 && b.length > 0 && covers(a, b) && covers(b, a);

const covers = (all: readonly string[], some: readonly string[]): boolean =>
  some.every((one) => all.some((other) => isSameLine(one, other)));

export const overlap = (a: readonly string[], b: readonly string[]): boolean =>
  a.some((one) => b.some((other) => isSameLine(one, other)));
