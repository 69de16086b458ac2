import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../frame/quantile.ts';
import { alternate, ratios } from '../frame/rounds.ts';
import type { Figure, Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { startServer } from '../http/server.ts';
import { ROUND, type Round, type RoundOrder, roundOf, WARM_UP } from '../http/server-round.ts';

/** `--max-semi-space-size` in MB; the first is what the others are compared with. */
const SIZES = [4, 8, 16, 32, 64];
const CONCURRENCY = 32;
const IDLE_MS = 2_000;

/** What the size of V8's young generation costs in memory and saves in processor time. */
export const youngGenerationSection: Section = {
  name: 'young-generation',
  about: 'durable dispatches and memory with semi-spaces of 4 to 64 MB',
  isDefault: false,
  async run({ dir, cores, rounds, load: started }) {
    await using opened = new AsyncDisposableStack();
    const load = await started();
    const servers = await Promise.all(
      SIZES.map(async (size) => {
        const home = join(dir, `young-${size}`);
        mkdirSync(home);
        const nodeOptions = `--max-semi-space-size=${size}`;
        const server = await startServer({ file: 'member.ts', dir: home, core: cores?.server, nodeOptions });
        return opened.use(server);
      }),
    );
    await sleep(IDLE_MS);
    const idle = servers.map((server) => server.rssMb());
    const runs = servers.map((server, at) => {
      const run = (one: Omit<RoundOrder, 'kind' | 'expect' | 'concurrency'>): Promise<Round> => {
        const expected = { kind: 'dispatch', expect: 'TASK_STATE_COMPLETED' } as const;
        return roundOf(load, server, { ...expected, ...one, concurrency: CONCURRENCY });
      };
      return { name: String(SIZES[at]), run };
    });
    for (const { run } of runs) await run(WARM_UP);
    const of = await alternate(
      rounds,
      runs.map(({ name, run }) => [name, () => run(ROUND)] as const),
    );
    const loaded = servers.map((server) => server.rssMb());
    const base = of(String(SIZES[0])).map(({ rate }) => rate);
    const rows = SIZES.map((size, at) => {
      const own = of(String(size));
      const cell = (value: (round: Round) => number): string => format(median(own.map(value)));
      return [
        `${size} MB`,
        cell(({ rate }) => rate),
        format(
          median(
            ratios(
              own.map(({ rate }) => rate),
              base,
            ),
          ),
        ),
        ...[cell(({ cpuUs }) => cpuUs), cell(({ p50 }) => p50), cell(({ p99 }) => p99)],
        ...[idle[at] ?? Number.NaN, loaded[at] ?? Number.NaN].map(format),
      ];
    });
    const figures = SIZES.flatMap((size, at): Figure[] => {
      const own = of(String(size));
      const key = (name: string): string => `young-generation.${size}.${name}`;
      return [
        { key: key('rate'), unit: 'per second', better: 'higher', values: own.map(({ rate }) => rate) },
        { key: key('cpu'), unit: 'µs', better: 'lower', values: own.map(({ cpuUs }) => cpuUs) },
        { key: key('rss_idle'), unit: 'MB', better: 'lower', values: [idle[at] ?? Number.NaN] },
        { key: key('rss_loaded'), unit: 'MB', better: 'lower', values: [loaded[at] ?? Number.NaN] },
      ];
    });
    const head = ['', 'per second', 'ratio', 'CPU µs', 'p50 ms', 'p99 ms', 'RSS idle MB', 'RSS loaded MB'];
    const title = `Young generation: durable dispatches, ${CONCURRENCY} at a time, by --max-semi-space-size`;
    return { tables: [{ title, head, rows }], figures };
  },
};
