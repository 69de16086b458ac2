import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { memberEnv } from '@hermes-fleet/cli';
import { z } from 'zod';
import { median } from '../frame/quantile.ts';
import { alternate, ratios } from '../frame/rounds.ts';
import type { BenchContext, Figure, Section, Table } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { type BenchServer, startServer } from '../http/server.ts';
import { ROUND, type Round, type RoundOrder, roundOf, WARM_UP } from '../http/server-round.ts';

/** The share of traces that is exported, by contender; undefined: traces are off. */
const CONTENDERS: Readonly<Record<string, { readonly title: string; readonly share: number | undefined }>> = {
  off: { title: 'traces off', share: undefined },
  full: { title: 'every trace', share: 1 },
  tenth: { title: 'one of ten', share: 0.1 },
};
const NAMES = Object.keys(CONTENDERS);
/** Until the last batch is sent: spans are held for 5 s (docs/traces.md#variables). */
const EXPORTED_MS = 6_000;

const SpanCount = z.object({ spans: z.number() });

/** What the export of traces costs a durable dispatch (docs/traces.md#cost): the same server with and without it. */
export const tracesSection: Section = {
  name: 'traces',
  about: 'durable dispatches with the export of all traces, of one in ten, and without',
  isDefault: true,
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const { servers, collector } = await startContenders(context, opened);
    const load = await context.load();
    const run = (name: string, one: Omit<RoundOrder, 'kind' | 'expect'>): Promise<Round> => {
      const server = servers.get(name);
      if (!server) throw new Error(`${name} does not run`);
      return roundOf(load, server, { kind: 'dispatch', expect: 'TASK_STATE_COMPLETED', ...one });
    };
    const tables = [await warmUpAll(collector, (name) => run(name, WARM_UP))];
    const figures: Figure[] = [];
    for (const concurrency of context.concurrency.toSorted((a, b) => b - a)) {
      const of = await alternate(
        context.rounds,
        NAMES.map((name) => [name, () => run(name, { ...ROUND, concurrency })] as const),
      );
      const against = (name: string, value: (round: Round) => number): number[] =>
        ratios(of(name).map(value), of('off').map(value));
      tables.push({
        title: `Traces: durable dispatches, ${concurrency} at a time; ratios to traces off`,
        head: ['', 'per second', 'ratio', 'CPU µs', 'ratio', 'p50 ms', 'ratio', 'p99 ms'],
        rows: NAMES.map((name) => {
          const cell = (value: (round: Round) => number): string => format(median(of(name).map(value)));
          const ratio = (value: (round: Round) => number): string => format(median(against(name, value)));
          return [
            titleOf(name),
            ...[cell(({ rate }) => rate), ratio(({ rate }) => rate)],
            ...[cell(({ cpuUs }) => cpuUs), ratio(({ cpuUs }) => cpuUs)],
            ...[cell(({ p50 }) => p50), ratio(({ p50 }) => p50), cell(({ p99 }) => p99)],
          ];
        }),
      });
      for (const name of NAMES.filter((each) => each !== 'off')) {
        const key = `traces.${concurrency}.${name}`;
        const samples = Math.min(...[...of(name), ...of('off')].map(({ count }) => count));
        const figure = (what: string, better: Figure['better'], values: number[]): Figure => ({
          key: `${key}_${what}_to_off`,
          unit: 'ratio',
          better,
          values,
          samples,
        });
        figures.push(
          figure(
            'rate',
            'higher',
            against(name, ({ rate }) => rate),
          ),
          figure(
            'cpu',
            'lower',
            against(name, ({ cpuUs }) => cpuUs),
          ),
          figure(
            'p50',
            'lower',
            against(name, ({ p50 }) => p50),
          ),
        );
      }
    }
    return { tables, figures };
  },
};

/** Shows how many spans reach the collector: a queue that overflows would make the export cheaper than it is. */
async function warmUpAll(collector: BenchServer, run: (name: string) => Promise<Round>): Promise<Table> {
  const rows: string[][] = [];
  let before = 0;
  for (const name of NAMES) {
    const { count, rate } = await run(name);
    await sleep(EXPORTED_MS);
    const { spans } = SpanCount.parse(await (await fetch(collector.url)).json());
    rows.push([titleOf(name), count.toLocaleString('en'), format(rate), format((spans - before) / count)]);
    before = spans;
  }
  const title = `Traces: spans that reached the collector in the warm-up, ${WARM_UP.concurrency} at a time`;
  return { title, head: ['', 'dispatches', 'per second', 'spans each'], rows };
}

const titleOf = (name: string): string => CONTENDERS[name]?.title ?? name;

/** The collector runs beside the load. It takes no time of the servers' core. */
async function startContenders(
  context: BenchContext,
  opened: AsyncDisposableStack,
): Promise<{ readonly servers: ReadonlyMap<string, BenchServer>; readonly collector: BenchServer }> {
  const { NODE_OPTIONS: nodeOptions = '' } = memberEnv(
    context.plan,
    context.plan.trader ?? context.plan.console,
  );
  const start = async (
    name: string,
    options: { file: 'member.ts' | 'collector.ts'; core?: number | undefined; env?: Record<string, string> },
  ) => {
    const dir = join(context.dir, `traces-${name}`);
    mkdirSync(dir);
    return opened.use(await startServer({ core: undefined, ...options, dir, nodeOptions }));
  };
  const collector = await start('collector', { file: 'collector.ts', core: context.cores?.load });
  const servers = new Map<string, BenchServer>();
  for (const [name, { share }] of Object.entries(CONTENDERS)) {
    const env: Record<string, string> =
      share === undefined
        ? {}
        : {
            OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
            OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
            OTEL_TRACES_SAMPLER_ARG: String(share),
          };
    servers.set(name, await start(name, { file: 'member.ts', core: context.cores?.server, env }));
  }
  return { servers, collector };
}
