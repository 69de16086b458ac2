/** Rows under a heading, in columns as wide as their widest cell; the last one may be as long as it likes. */
export function columns(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows].map((row) => row.map(plain));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** What moves a terminal's cursor, recolours it, or turns the order of its letters. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

/** The words of others on one line, with nothing in them that a terminal would obey. */
export function plain(text: string): string {
  return text.replace(CONTROL, '\ufffd');
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Each on a line of its own, whatever others have written into it. */
export function printLines(lines: readonly string[]): void {
  process.stdout.write(`${lines.map(plain).join('\n')}\n`);
}
