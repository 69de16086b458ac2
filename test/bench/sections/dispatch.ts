import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { memberEnv } from '@hermes-fleet/cli';
import { median } from '../frame/quantile.ts';
import { alternate, ratios } from '../frame/rounds.ts';
import type { BenchContext, Figure, Section, SectionResult, Table } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { type BenchServer, type ServerOptions, startServer } from '../http/server.ts';
import { type Round, roundOf } from '../http/server-round.ts';

type ServerName = 'durable' | 'free' | 'sdk' | 'bare';
type ContenderName = ServerName | 'blocked';

const SERVERS: Readonly<Record<ServerName, Pick<ServerOptions, 'file' | 'args'>>> = {
  durable: { file: 'member.ts' },
  free: { file: 'member.ts', args: ['free'] },
  sdk: { file: 'sdk.ts' },
  bare: { file: 'bare.ts' },
};

interface ContenderOptions {
  readonly title: string;
  readonly server: ServerName;
  readonly kind: 'dispatch' | 'blocked';
  readonly expect: string;
  readonly warmUpMs: number;
}

const CONTENDERS: Readonly<Record<ContenderName, ContenderOptions>> = {
  durable: {
    title: 'fleet: durable, two transactions',
    server: 'durable',
    kind: 'dispatch',
    expect: 'TASK_STATE_COMPLETED',
    warmUpMs: 3_000,
  },
  free: {
    title: 'fleet: durable, free of effects, one',
    server: 'free',
    kind: 'dispatch',
    expect: 'TASK_STATE_COMPLETED',
    warmUpMs: 3_000,
  },
  // It becomes faster for several seconds.
  sdk: {
    title: 'A2A SDK on Express, in memory',
    server: 'sdk',
    kind: 'dispatch',
    expect: 'TASK_STATE_COMPLETED',
    warmUpMs: 6_000,
  },
  blocked: {
    title: 'fleet: blocked, durable',
    server: 'durable',
    kind: 'blocked',
    expect: '"blocked"',
    warmUpMs: 1_500,
  },
  bare: {
    title: 'Fastify and zod alone',
    server: 'bare',
    kind: 'blocked',
    expect: 'TASK_STATE_REJECTED',
    warmUpMs: 1_500,
  },
};
const NAMES = Object.keys(CONTENDERS) as ContenderName[];
/** Whom each contender of the fleet is compared with. */
const RIVALS: readonly (readonly [ours: ContenderName, theirs: ContenderName])[] = [
  ['durable', 'sdk'],
  ['free', 'sdk'],
  ['blocked', 'bare'],
];
const ROUND_MS = 800;
const SAMPLES = 1_000;
const WARM_UP_CONCURRENCY = 8;

/**
 * Dispatches beside the same requests to the SDK's server and to a bare route. Servers start anew for each number of
 * requests at a time, so that no task store grows without end, and all have the same `NODE_OPTIONS`.
 */
export const dispatchSection: Section = {
  name: 'dispatch',
  about: 'dispatches beside the A2A SDK and a bare Fastify route: throughput, CPU, p50, p99',
  isDefault: true,
  async run(context) {
    const results: SectionResult[] = [];
    for (const concurrency of context.concurrency) results.push(await at(context, concurrency));
    return {
      tables: results.flatMap(({ tables }) => tables),
      figures: results.flatMap(({ figures }) => figures),
    };
  },
};

async function at(context: BenchContext, concurrency: number): Promise<SectionResult> {
  await using opened = new AsyncDisposableStack();
  const nodeOptions = memberEnv(context.plan, context.plan.trader)['NODE_OPTIONS'] ?? '';
  const servers = new Map<ServerName, BenchServer>();
  for (const name of Object.keys(SERVERS) as ServerName[]) {
    const dir = join(context.dir, `dispatch-${concurrency}-${name}`);
    mkdirSync(dir);
    const core = context.cores?.server;
    servers.set(name, opened.use(await startServer({ ...SERVERS[name], dir, core, nodeOptions })));
  }
  const load = await context.load();
  const round = (name: ContenderName, ms: number, samples: number, parallel: number): Promise<Round> => {
    const { server, kind, expect } = CONTENDERS[name];
    const running = servers.get(server);
    if (!running) throw new Error(`${server} does not run`);
    return roundOf(load, running, { kind, expect, ms, samples, concurrency: parallel });
  };
  for (const name of NAMES)
    await round(name, CONTENDERS[name].warmUpMs, 0, Math.max(concurrency, WARM_UP_CONCURRENCY));
  const of = await alternate(
    context.rounds,
    NAMES.map((name) => [name, () => round(name, ROUND_MS, SAMPLES, concurrency)] as const),
  );
  return { tables: [tableOf(concurrency, of)], figures: figuresOf(concurrency, of) };
}

type RoundsOf = (name: string) => readonly Round[];

function tableOf(concurrency: number, of: RoundsOf): Table {
  const rows = NAMES.map((name) => {
    const rounds = of(name);
    const rival = RIVALS.find(([ours]) => ours === name)?.[1];
    const cell = (value: (round: Round) => number): string => format(median(rounds.map(value)));
    const ratio = (value: (round: Round) => number): string =>
      rival ? format(median(ratios(rounds.map(value), of(rival).map(value)))) : '';
    return [
      CONTENDERS[name].title,
      ...[cell((one) => one.rate), ratio((one) => one.rate)],
      ...[cell((one) => one.cpuUs), cell((one) => one.p50)],
      ...[cell((one) => one.p99), ratio((one) => one.p99)],
      ...[cell((one) => one.writtenKb), String(Math.min(...rounds.map(({ count }) => count)))],
    ];
  });
  return {
    title: `Dispatches, ${concurrency} at a time; ratios to the SDK, and of blocked ones to the bare route`,
    head: ['', 'per second', 'ratio', 'CPU µs', 'p50 ms', 'p99 ms', 'ratio', 'kB written', 'fewest samples'],
    rows,
  };
}

function figuresOf(concurrency: number, of: RoundsOf): Figure[] {
  const key = (name: string): string => `dispatch.${concurrency}.${name}`;
  const own = NAMES.flatMap((name): Figure[] => {
    const values = (value: (round: Round) => number): number[] => of(name).map(value);
    return [
      { key: key(`${name}_rate`), unit: 'per second', better: 'higher', values: values(({ rate }) => rate) },
      { key: key(`${name}_cpu`), unit: 'µs', better: 'lower', values: values(({ cpuUs }) => cpuUs) },
      { key: key(`${name}_p50`), unit: 'ms', better: 'lower', values: values(({ p50 }) => p50) },
      { key: key(`${name}_p99`), unit: 'ms', better: 'lower', values: values(({ p99 }) => p99) },
      { key: key(`${name}_written`), unit: 'kB', better: 'lower', values: values((one) => one.writtenKb) },
    ];
  });
  const compared = RIVALS.flatMap(([ours, theirs]) => {
    const ratio = (name: string, better: Figure['better'], value: (round: Round) => number): Figure => ({
      key: key(`${ours}_${name}_to_${theirs}`),
      unit: 'ratio',
      better,
      values: ratios(of(ours).map(value), of(theirs).map(value)),
    });
    return [
      ratio('rate', 'higher', ({ rate }) => rate),
      ratio('cpu', 'lower', ({ cpuUs }) => cpuUs),
      ratio('p50', 'lower', ({ p50 }) => p50),
      ratio('p99', 'lower', ({ p99 }) => p99),
    ];
  });
  return [...own, ...compared];
}
