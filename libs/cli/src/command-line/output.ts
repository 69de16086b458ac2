import type { Writable } from 'node:stream';

export type Cell = string | number | boolean | null | undefined;

/** A value for people; a dash for one that is not there. */
export const shown = (value: Cell): string => String(value ?? '-');

/** Lays out a table: every column is as wide as its widest cell, without trailing spaces. */
export function columns(head: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const all = [head, ...rows].map((row) => row.map((cell) => sanitize(shown(cell))));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** A line of a list of names and values. Sanitized where it is printed. */
export const line = (name: string, value: string): string => `  ${name.padEnd(10)} ${value}`;

/** As `columns`, with the text `none` in place of a table without rows. */
export const table = (head: readonly string[], rows: readonly (readonly Cell[])[], none: string): string[] =>
  rows.length === 0 ? [none] : columns(head, rows);

/** Control characters, line and paragraph separators, and bidirectional overrides. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

/** Replaces every character by which foreign text could break its line or control the terminal. */
export function sanitize(text: string): string {
  return text.replace(CONTROL, '\ufffd');
}

/** Those of CONTROL that JSON and YAML may have in a string as they are; C0 characters are escaped there anyway. */
export const UNESCAPED = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The same JSON with escapes for characters that could control a terminal, so its value is the same. */
export function safeJson(json: string): string {
  return json.replace(UNESCAPED, unicodeEscape);
}

export const unicodeEscape = (sign: string): string =>
  `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Prints each entry on one line, sanitized. */
export function printLines(to: Writable, lines: readonly string[]): void {
  to.write(`${lines.map(sanitize).join('\n')}\n`);
}
