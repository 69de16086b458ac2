import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';

/** Seconds by test file. */
export type Durations = Readonly<Record<string, number>>;
const Durations = z.record(z.string(), z.number());

const ROOT = resolve(import.meta.dirname, '../../..');
/** The durations that the repository knows, for a machine that has not run the tests yet. */
export const KNOWN = join(import.meta.dirname, 'known-durations.json');
/** The durations that were measured on this machine. */
export const MEASURED = join(ROOT, '.cache/test-durations.json');

/** A file below this runs well in any order, and is not listed. */
const LISTED_FROM_S = 5;

/** Reads a list of durations; empty if there is none, or none that can be read. */
export function readDurations(path: string): Durations {
  try {
    return Durations.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return {};
  }
}

/** Writes a list of durations, in tenths of a second, sorted by file. */
export function writeDurations(path: string, durations: Durations): void {
  const rounded = Object.entries(durations).map(([file, s]) => [file, Math.round(s * 10) / 10] as const);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(rounded.sort()), null, 2)}\n`);
}

/**
 * The known durations, renewed by the measured ones: without files that are gone, and without those that are too fast
 * to matter. A file that was not measured keeps its known duration.
 */
export function renewDurations(known: Durations, measured: Durations, files: readonly string[]): Durations {
  const all = { ...known, ...measured };
  const listed = files.map((file) => [file, all[file] ?? 0] as const).filter(([, s]) => s >= LISTED_FROM_S);
  return Object.fromEntries(listed);
}
