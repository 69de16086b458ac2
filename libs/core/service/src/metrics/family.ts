import type { LedgerCounter } from '@hermes-fleet/protocol/ports';

/** A label whose values the compiler does not know: what is not known to it at run time either becomes `other`. */
interface OpenLabel {
  /** The set of known values that the process names, such as its peers. */
  readonly from?: string;
  /** Further known values. */
  readonly and?: readonly string[];
  /** How many values that look like names may become known when they are recorded; default: 0. */
  readonly more?: number;
  /** A value that would become `other` is not recorded at all. */
  readonly knownOnly?: true;
}

/** A closed set of values, or an open one. */
export type Label = readonly string[] | OpenLabel;

/**
 * All that there is to know of a metric (docs/metrics.md). Its name says its kind: one that ends in `_total` is a counter; of
 * the others, those with buckets are histograms, and the rest are gauges.
 */
export interface Family {
  /** Its meaning: a cell of docs/metrics.md, and without its links the text at /metrics. */
  readonly help: string;
  /** By name, in the order in which the ledger keeps their values. The recorder itself fills in `profile`. */
  readonly labels?: Readonly<Record<string, Label>>;
  /** The series that are shown with 0 from the start on; default: all combinations of the known values of the labels. */
  readonly starts?: readonly Readonly<Record<string, string>>[];
  readonly buckets?: readonly number[];
  /** The ledger keeps its sums under this name, and it continues with them after a restart. */
  readonly ledger?: LedgerCounter;
  /** It is read at each scrape, and not recorded. */
  readonly read?: true;
}

/** The type of a metric in the Prometheus text format. */
export const kindOf = (name: string, { buckets }: Family): 'counter' | 'histogram' | 'gauge' =>
  name.endsWith('_total') ? 'counter' : buckets ? 'histogram' : 'gauge';

export type Families = Readonly<Record<string, Family>>;

type Value<L> = L extends readonly (infer V extends string)[] ? V : string;

/** The labels of a family with their values, without `profile`. */
export type LabelsOf<M> = M extends { readonly labels: infer L }
  ? { readonly [K in Exclude<keyof L, 'profile'>]: Value<L[K]> }
  : Readonly<Record<string, never>>;

/** The names of the families that have these properties. */
type Having<F, P> = { [N in keyof F & string]: F[N] extends P ? N : never }[keyof F & string];

type ReadName<F> = Having<F, { readonly read: true }>;
export type CounterName<F> = Exclude<keyof F & `${string}_total`, ReadName<F>>;
export type HistogramName<F> = Having<F, { readonly buckets: readonly number[] }>;
export type GaugeName<F> = Exclude<keyof F & string, `${string}_total` | HistogramName<F> | ReadName<F>>;

/** A value at a scrape; one that is no finite number is omitted. */
export type Reading = number | boolean | null | undefined;

type Readings<M> = M extends { readonly labels: object }
  ? Iterable<readonly [labels: LabelsOf<M>, value: Reading]>
  : Reading;

/** The sources of the families that are read at each scrape. One that throws omits its family. */
export type Readers<F> = { readonly [N in ReadName<F>]: () => Readings<F[N]> | Promise<Readings<F[N]>> };

type From<L> = {
  [K in keyof L]: L[K] extends { readonly from: infer S extends string } ? S : never;
}[keyof L];
type SetName<F> = { [N in keyof F]: F[N] extends { readonly labels: infer L } ? From<L> : never }[keyof F];

/** The sets of values that a process names (OpenLabel.from). */
export type LabelSets<F> = { readonly [S in SetName<F>]: readonly string[] };
