import type { Count } from '@hermes-fleet/protocol/ports';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type {
  CounterName,
  Families,
  Family,
  GaugeName,
  HistogramName,
  Label,
  LabelSets,
  LabelsOf,
  Readers,
  Reading,
} from './family.ts';
import { type LabelValues, labelValues, OTHER } from './labels.ts';

/**
 * Records the metrics of a table of families. It never throws: an amount that is negative or not finite changes nothing, and a
 * label value outside its bounds becomes `other`.
 */
export interface Recorder<F extends Families> {
  readonly registry: Registry;
  add<N extends CounterName<F>>(name: N, labels: LabelsOf<F[N]>, by?: number): void;
  observe<N extends HistogramName<F>>(name: N, labels: LabelsOf<F[N]>, value: number): void;
  set<N extends GaugeName<F>>(name: N, labels: LabelsOf<F[N]>, value: number | boolean): void;
  /** Names the sources of families that are read at each scrape. */
  read(readers: Partial<Readers<F>>): void;
  /** Adds to the counters that continue after a restart: the increments, and at a start the totals, of the ledger. */
  count(counts: readonly Count[]): void;
}

type Labels = Readonly<Record<string, string>>;
type Write = (labels: Labels, value: number) => void;
type Samples = readonly (readonly [labels: Labels, value: Reading])[];
type Reader = () => Reading | Iterable<Samples[number]> | Promise<Reading | Iterable<Samples[number]>>;

/** The label that a profile sets itself. */
const OWN = 'profile';

/** Registers the families of a table. Series whose labels are known start at 0, so that their first increase is seen. */
export function createRecorder<F extends Families>(
  registry: Registry,
  families: F,
  sets: LabelSets<F>,
): Recorder<F> {
  const valuesOf = createValuesOf(sets);
  const all = new Map<string, ReturnType<typeof register>>();
  const kept = new Map<string, { readonly name: string; readonly labels: readonly string[] }>();
  for (const [name, family] of Object.entries<Family>(families)) {
    const labels = Object.entries(family.labels ?? {}).map(([label, of]) => [label, valuesOf(of)] as const);
    all.set(name, register(registry, name, family, labels));
    const names = labels.flatMap(([label]) => (label === OWN ? [] : [label]));
    if (family.ledger !== undefined) kept.set(family.ledger, { name, labels: names });
  }
  function record(name: string, labels: Labels, value: number): void {
    if (value >= 0 && Number.isFinite(value)) all.get(name)?.write(labels, value);
  }
  return {
    registry,
    add: (name, labels, by = 1) => record(name, labels, by),
    observe: record,
    set: (name, labels, value) => record(name, labels, Number(value)),
    read(readers: Readonly<Record<string, Reader | undefined>>) {
      for (const [name, reader] of Object.entries(readers)) if (reader) all.get(name)?.readBy(reader);
    },
    count(counts) {
      for (const { counter, labels: values, by } of counts) {
        const { name = '', labels = [] } = kept.get(counter) ?? {};
        record(name, Object.fromEntries(labels.map((label, at) => [label, values[at] ?? OTHER])), by);
      }
    },
  };
}

/** Families that share a label share its values. */
function createValuesOf(sets: Readonly<Record<string, readonly string[]>>): (label: Label) => LabelValues {
  const known = new Map<Label, LabelValues>();
  return (label) => {
    const { from = '', and = [], ...bounds } = 'length' in label ? { and: label } : label;
    const values = known.get(label) ?? labelValues([...(sets[from] ?? []), ...and], bounds);
    known.set(label, values);
    return values;
  };
}

/** A family at its registry, which keeps its labels within their bounds. */
function register(
  registry: Registry,
  name: string,
  family: Family,
  labels: readonly (readonly [name: string, values: LabelValues])[],
) {
  let reader: Reader = () => undefined;
  const { write, zero, clear } = instrument(registry, name, family, async () => {
    const samples = await samplesOf(reader);
    clear();
    for (const [given, value] of samples)
      if (Number.isFinite(Number(value ?? Number.NaN))) within(given, write, Number(value));
  });
  function within(given: Labels, act: Write, value: number): void {
    const at: Record<string, string> = {};
    for (const [label, { known, bound }] of labels) {
      const word = label === OWN ? known[0] : bound(given[label] ?? OTHER);
      if (word === undefined) return;
      at[label] = word;
    }
    act(at, value);
  }
  if (!family.read) for (const each of family.starts ?? combinations(labels)) within(each, zero, 0);
  return {
    write: (given: Labels, value: number) => within(given, write, value),
    readBy(given: Reader) {
      reader = given;
    },
  };
}

/** What a source has now; nothing if it fails, so that the other metrics are still served: /ready reports the failure. */
async function samplesOf(reader: Reader): Promise<Samples> {
  try {
    const reading = await reader();
    return typeof reading === 'object' && reading !== null ? [...reading] : [[{}, reading]];
  } catch {
    return [];
  }
}

/** All combinations of the known values of labels. */
function combinations(labels: readonly (readonly [name: string, values: LabelValues])[]): Labels[] {
  return labels.reduce<Labels[]>(
    (all, [label, { known }]) => known.flatMap((value) => all.map((each) => ({ ...each, [label]: value }))),
    [{}],
  );
}

/** The metric of a family. `zero` shows a series with 0, and `clear` shows none. */
function instrument(
  registry: Registry,
  name: string,
  { help, labels = {}, buckets, read }: Family,
  collect: () => Promise<void>,
) {
  const config = {
    name,
    help: help.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', ''),
    labelNames: Object.keys(labels),
    registers: [registry],
    ...(read && { collect }),
  };
  if (buckets) {
    const histogram = new Histogram({ ...config, buckets: [...buckets] });
    const write: Write = (at, value) => histogram.observe(at, value);
    return { write, zero: (at: Labels) => histogram.zero(at), clear: () => histogram.reset() };
  }
  const metric = name.endsWith('_total') ? new Counter(config) : new Gauge(config);
  const write: Write = (at, value) =>
    metric instanceof Counter ? metric.inc(at, value) : metric.set(at, value);
  return {
    write,
    zero: (at: Labels) => write(at, 0),
    clear() {
      metric.reset();
      if (config.labelNames.length === 0) metric.remove();
    },
  };
}
