import { median, p99Of } from '../frame/quantile.ts';
import { alternate, ratios, warmUp } from '../frame/rounds.ts';
import type { Figure, SectionResult } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import type { Run } from '../store/run.ts';

/** Operations at a time. */
const PARALLEL = [1, 8, 32, 64];
const RAW = 'raw';

export interface Contest {
  /** The name of the section. */
  readonly section: string;
  readonly title: string;
  readonly rounds: number;
  readonly raw: { readonly title: string; readonly run: () => Promise<Run> };
  readonly ours: { readonly title: string; readonly run: (parallel: number) => Promise<Run> };
}

/**
 * Operations of a store of the fleet, by their number at a time, beside SQLite alone, which does one after the other.
 * Latencies are those of all rounds together.
 */
export async function contest({ section, title, rounds, raw, ours }: Contest): Promise<SectionResult> {
  const contenders = [
    [RAW, raw.run] as const,
    ...PARALLEL.map((parallel) => [String(parallel), () => ours.run(parallel)] as const),
  ];
  await warmUp(contenders);
  const of = await alternate(rounds, contenders);
  const rateOf = (name: string): number[] => of(name).map(({ rate }) => rate);
  const cpuOf = (name: string): number[] => of(name).map(({ cpuUs }) => cpuUs);
  const latenciesOf = (name: string): number[] => of(name).flatMap(({ latencies }) => latencies);
  const row = (name: string, label: string): string[] => {
    const latencies = latenciesOf(name);
    return [
      label,
      ...[median(rateOf(name)), median(ratios(rateOf(name), rateOf(RAW)))].map(format),
      ...[median(cpuOf(name)), median(ratios(cpuOf(name), cpuOf(RAW)))].map(format),
      ...[median(latencies), p99Of(latencies)].map(format),
      latencies.length.toLocaleString('en'),
    ];
  };
  const figures = PARALLEL.flatMap((parallel): Figure[] => {
    const name = String(parallel);
    const latencies = latenciesOf(name);
    const samples = latencies.length;
    return [
      {
        key: `${section}.rate_${name}_to_raw`,
        unit: 'ratio',
        better: 'higher',
        values: ratios(rateOf(name), rateOf(RAW)),
      },
      {
        key: `${section}.cpu_${name}_to_raw`,
        unit: 'ratio',
        better: 'lower',
        values: ratios(cpuOf(name), cpuOf(RAW)),
      },
      { key: `${section}.rate_${name}`, unit: 'per second', better: 'higher', values: rateOf(name) },
      { key: `${section}.cpu_${name}`, unit: 'µs', better: 'lower', values: cpuOf(name) },
      { key: `${section}.p50_${name}`, unit: 'ms', better: 'lower', values: [median(latencies)], samples },
      { key: `${section}.p99_${name}`, unit: 'ms', better: 'lower', values: [p99Of(latencies)], samples },
    ];
  });
  const head = ['', 'per second', 'ratio', 'CPU µs', 'ratio', 'p50 ms', 'p99 ms', 'samples'];
  const rows = [
    row(RAW, raw.title),
    ...PARALLEL.map((parallel) => row(String(parallel), `${ours.title}, ${parallel} at a time`)),
  ];
  return { tables: [{ title, head, rows }], figures };
}
