import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { median, spread } from './quantile.ts';
import type { Figure } from './section.ts';

/** A change below this share of the baseline is noise, however little the rounds differ. */
const NOISE = 0.1;

const Baseline = z.strictObject({
  /** The machine that it was measured on, as the bench prints it. */
  machine: z.string(),
  ratios: z.record(
    z.string(),
    z.strictObject({
      median: z.number(),
      /** The distance of the quartiles of the rounds, as a share of the median. */
      spread: z.number().nonnegative(),
    }),
  ),
});

/** The ratios of an earlier run. Other figures depend on the machine and are not kept. */
export type Baseline = z.infer<typeof Baseline>;

export interface Change {
  readonly key: string;
  readonly kind: 'worse' | 'better' | 'missing' | 'new';
  /** One sentence that names the figure and both values. */
  readonly text: string;
}

/** Reads a baseline. Throws an error that names the file if it is not one. */
export function readBaseline(file: string): Baseline {
  try {
    return Baseline.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new Error(`${file} is not a baseline; write it with --write-baseline: ${reason}`, { cause });
  }
}

/**
 * The baseline of a run. Ratios of sections that did not run are taken over from `earlier`; ratios that could not be
 * measured are left out.
 */
export function toBaseline(
  figures: readonly Figure[],
  sections: readonly string[],
  machine: string,
  earlier?: Baseline,
): Baseline {
  const kept = Object.entries(earlier?.ratios ?? {}).filter(([key]) => !sections.includes(sectionOf(key)));
  const measured = figures
    .filter(({ unit, values }) => unit === 'ratio' && Number.isFinite(median(values)))
    .map(
      ({ key, values }) => [key, { median: round(median(values)), spread: round(spread(values)) }] as const,
    );
  const ratios = Object.fromEntries([...kept, ...measured].sort(([a], [b]) => a.localeCompare(b, 'en')));
  return { machine, ratios };
}

/**
 * What changed beyond the noise since the baseline, in the sections that ran. Noise is the spread of the rounds of both
 * runs together, and at least a tenth. A ratio that has become not measurable is missing.
 */
export function compare(
  figures: readonly Figure[],
  sections: readonly string[],
  { ratios }: Baseline,
): readonly Change[] {
  const now = figures.filter(({ unit }) => unit === 'ratio');
  const known = Object.keys(ratios).filter((key) => sections.includes(sectionOf(key)));
  const missing = known
    .filter((key) => !now.some((figure) => figure.key === key && Number.isFinite(median(figure.values))))
    .map((key): Change => ({ key, kind: 'missing', text: `${key} is in the baseline and was not measured` }));
  return [...now.flatMap((figure) => changeOf(figure, ratios[figure.key])), ...missing];
}

function changeOf({ key, better, values }: Figure, before: Baseline['ratios'][string] | undefined): Change[] {
  const value = median(values);
  if (!Number.isFinite(value)) return [];
  if (before === undefined)
    return [{ key, kind: 'new', text: `${key} is ${round(value)} and not in the baseline` }];
  const change = value / before.median - 1;
  const noise = Math.max(NOISE, before.spread + spread(values));
  if (Math.abs(change) <= noise) return [];
  const kind = change > 0 === (better === 'higher') ? 'better' : 'worse';
  const percent = (share: number): string => `${Math.round(Math.abs(share) * 100)} %`;
  const text = `${key} is ${kind}: ${round(value)} instead of ${before.median}, ${percent(change)} (noise ${percent(noise)})`;
  return [{ key, kind, text }];
}

const sectionOf = (key: string): string => key.slice(0, key.indexOf('.'));

const round = (value: number): number => Number(value.toPrecision(3));
