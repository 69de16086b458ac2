import type { Table } from './section.ts';

/** Formats a number with about three significant digits and thousands separators; `–` if it is not finite. */
export function format(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

/** A table as text; the first column is left-aligned, the others right-aligned. */
export function textTable({ title, head, rows }: Table): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return `${title}\n  ${line(head)}\n${rows.map((row) => `  ${line(row)}`).join('\n')}`;
}

/** A table as Markdown, below its title. */
export function markdownTable({ title, head, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.trim()).join(' | ')} |`;
  const rule = `|${head.map((_, column) => (column === 0 ? '---|' : '---:|')).join('')}`;
  return [`${title}:`, '', line(head), rule, ...rows.map(line)].join('\n');
}
