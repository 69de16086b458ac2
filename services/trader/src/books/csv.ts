import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';

/** Rows as CSV (RFC 4180), with a header. Absent values are empty. */
export function csv(columns: readonly string[], rows: readonly JsonObject[]): string {
  const lines = [
    columns.join(','),
    ...rows.map((row) => columns.map((column) => field(row[column])).join(',')),
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

function field(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
