import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { median, quartileDistance, spread } from './quantile.ts';
import type { Figure } from './section.ts';

/** A change by this share of the baseline is noise, however little the rounds differ, and by this one never. */
const [LEAST_NOISE, MOST_NOISE] = [0.1, 0.5];

const Baseline = z.strictObject({
  /** The machine that it was measured on, as the bench prints it. */
  machine: z.string(),
  ratios: z.record(
    z.string(),
    z.strictObject({
      median: z.number().positive(),
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
 * Throws if a baseline of these sections on this machine would keep ratios that another machine measured, since nothing
 * would tell them apart.
 */
export function refuseMixture(sections: readonly string[], machine: string, earlier: Baseline): void {
  const kept = keptOf(sections, earlier);
  if (kept.length === 0 || earlier.machine === machine) return;
  const names = [...new Set(kept.map(([key]) => sectionOf(key)))].join(', ');
  throw new Error(
    `--write-baseline: the baseline has ratios of another machine (${earlier.machine}); run all of its sections, also ${names}`,
  );
}

/**
 * The baseline of a run. Ratios of sections that did not run are taken over from `earlier`; ratios that could not be
 * measured are left out.
 */
export function toBaseline(
  figures: readonly Figure[],
  sections: readonly string[],
  machine: string,
  earlier: Baseline,
): Baseline {
  const kept = keptOf(sections, earlier);
  const measured = figures
    .filter(({ unit, values }) => unit === 'ratio' && Number.isFinite(median(values)))
    .map(
      ({ key, values }) => [key, { median: round(median(values)), spread: round(spread(values)) }] as const,
    );
  const ratios = Object.fromEntries([...kept, ...measured].sort(([a], [b]) => a.localeCompare(b, 'en')));
  return { machine, ratios };
}

/** What a run measured. */
export interface Scope {
  /** The names of the sections that ran. */
  readonly sections: readonly string[];
  /** The numbers of requests at a time that were measured; a key with another one, as in `dispatch.8.x`, was not. */
  readonly concurrency: readonly number[];
}

/**
 * What changed beyond the noise since the baseline, in what ran. Noise is the distances of the quartiles of both runs
 * together as a share of the baseline's median, between 0.1 and 0.5. A fall is measured like the rise that makes up for
 * it: to a half as to the double. A ratio that has become not measurable is missing.
 */
export function compare(
  figures: readonly Figure[],
  scope: Scope,
  { ratios }: Pick<Baseline, 'ratios'>,
): readonly Change[] {
  const now = figures.filter(({ unit }) => unit === 'ratio');
  const known = Object.keys(ratios).filter((key) => isInScope(key, scope));
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
  const change = Math.log(value / before.median);
  const distance = before.spread + quartileDistance(values) / before.median;
  const noise = Math.min(MOST_NOISE, Math.max(LEAST_NOISE, distance));
  if (Math.abs(change) <= Math.log1p(noise)) return [];
  const kind = change > 0 === (better === 'higher') ? 'better' : 'worse';
  const factor = Math.exp(Math.abs(change)).toPrecision(3);
  const text = `${key} is ${kind}: ${round(value)} instead of ${before.median}, a factor of ${factor} (noise ${round(1 + noise)})`;
  return [{ key, kind, text }];
}

const keptOf = (sections: readonly string[], { ratios }: Baseline) =>
  Object.entries(ratios).filter(([key]) => !sections.includes(sectionOf(key)));

function isInScope(key: string, { sections, concurrency }: Scope): boolean {
  const [section = '', second = ''] = key.split('.');
  return sections.includes(section) && (!/^\d+$/.test(second) || concurrency.includes(Number(second)));
}

const sectionOf = (key: string): string => key.slice(0, key.indexOf('.'));

const round = (value: number): number => Number(value.toPrecision(3));
