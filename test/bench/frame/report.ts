import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Machine } from './machine.ts';
import { median, quantile } from './quantile.ts';
import type { Figure, Table } from './section.ts';
import { markdownTable } from './table.ts';

export const BEGIN = '<!-- bench: begin -->';
export const END = '<!-- bench: end -->';

export interface Report {
  readonly machine: Machine;
  /** Whether servers and load had a core each. */
  readonly pinned: boolean;
  readonly rounds: number;
  readonly sections: readonly string[];
  readonly tables: readonly Table[];
  readonly figures: readonly Figure[];
  /** Sentences about what changed since the baseline. */
  readonly changes: readonly string[];
}

/** The report as JSON in snake_case; every figure has its median, quartiles, and the value of each round. */
export function jsonReport(report: Report): string {
  const { machine, figures, ...rest } = report;
  const { fileSystem: file_system, fsyncsPerSecond: fsyncs_per_second, ...same } = machine;
  return `${JSON.stringify(
    {
      machine: { ...same, file_system, fsyncs_per_second },
      ...rest,
      figures: figures.map(({ key, unit, better, values, samples, note }) => ({
        key,
        unit,
        better,
        median: median(values),
        quartiles: [quantile(values, 0.25), quantile(values, 0.75)],
        values,
        samples,
        note,
      })),
    },
    null,
    2,
  )}\n`;
}

/**
 * Puts the tables between the markers of a Markdown file, or makes the file. Throws, and changes nothing, if an existing
 * file lacks a marker.
 */
export function writeMarkdown(file: string, { machine, rounds, tables }: Report, about: string): void {
  const disk = `${machine.fsyncsPerSecond.toLocaleString('en')} durable writes of 4 KiB per second`;
  const body = [
    `${about}; ${disk}. Medians of ${rounds} alternating rounds.`,
    ...tables.map((table) => markdownTable(table)),
  ].join('\n\n');
  const block = `${BEGIN}\n${body}\n${END}`;
  const { before, after } = readPage(file);
  writeFileSync(file, `${before}${block}${after}`);
}

/** The text around the figures of a Markdown file, which need not exist. Throws if it lacks a marker. */
export function readPage(file: string): { readonly before: string; readonly after: string } {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : `${BEGIN}\n${END}\n`;
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`--markdown: ${file} lacks the lines ${BEGIN} and ${END}`);
  return { before: text.slice(0, begin), after: text.slice(end + END.length) };
}
