import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';

/** Seconds by test file. */
export type Durations = Readonly<Record<string, number>>;
const Durations = z.record(z.string(), z.number());

/** Reads the durations of the last run; empty if there are none, or none that can be read. */
export function readDurations(path: string): Durations {
  try {
    return Durations.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return {};
  }
}

/** Writes these durations beside those of files that did not run this time. */
export function keepDurations(path: string, ran: Durations): void {
  const all = Object.entries({ ...readDurations(path), ...ran });
  const rounded = all.map(([file, seconds]) => [file, Math.round(seconds * 10) / 10] as const);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(rounded.sort()), null, 2)}\n`);
}
