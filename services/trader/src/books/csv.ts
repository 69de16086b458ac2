import type { JsonValue } from '@hermes-fleet/protocol';

/**
 * Rows as CSV (RFC 4180), with a header. Absent values are empty. A text that a spreadsheet would take for a formula begins
 * with an apostrophe: ids are texts of callers.
 */
export function csv(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, JsonValue | undefined>>[],
): string {
  const lines = [
    columns.join(','),
    ...rows.map((row) => columns.map((column) => field(row[column])).join(',')),
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

const FORMULA = /^[=+\-@]/;
const NUMBER = /^-?\d+(\.\d+)?$/;

function field(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  const plain = typeof value === 'string' ? value : JSON.stringify(value);
  const text = FORMULA.test(plain) && !NUMBER.test(plain) ? `'${plain}` : plain;
  return quoted(text);
}

/** In quotes where CSV needs them (RFC 4180). */
export const quoted = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
