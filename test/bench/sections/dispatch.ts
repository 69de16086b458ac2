import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { memberEnv } from '@hermes-fleet/cli';
import { median } from '../frame/quantile.ts';
import { alternate, ratios } from '../frame/rounds.ts';
import type { BenchContext, Figure, Section, Table } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { type BenchServer, type ServerOptions, startServer } from '../http/server.ts';
import { ROUND, type Round, type RoundOrder, roundOf, WARM_UP } from '../http/server-round.ts';

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
}

const COMPLETED = { kind: 'dispatch', expect: 'TASK_STATE_COMPLETED' } as const;
const CONTENDERS: Readonly<Record<ContenderName, ContenderOptions>> = {
  durable: { title: 'fleet: durable, two transactions', server: 'durable', ...COMPLETED },
  free: { title: 'fleet: durable, free of effects, one', server: 'free', ...COMPLETED },
  sdk: { title: 'A2A SDK on Express, in memory', server: 'sdk', ...COMPLETED },
  blocked: { title: 'fleet: blocked, durable', server: 'durable', kind: 'blocked', expect: '"blocked"' },
  bare: { title: 'Fastify and zod alone', server: 'bare', kind: 'blocked', expect: 'TASK_STATE_REJECTED' },
};
const NAMES = Object.keys(CONTENDERS) as ContenderName[];
/** Whom each contender of the fleet is compared with. */
const RIVALS: readonly (readonly [ours: ContenderName, theirs: ContenderName])[] = [
  ['durable', 'sdk'],
  ['free', 'sdk'],
  ['blocked', 'bare'],
];
/** A server that is less busy waits for the load or the disk, or for other programs on its core. */
const BUSY = 0.9;

type LoadOf = Omit<RoundOrder, 'kind' | 'expect'>;
type RunRound = (name: ContenderName, load: LoadOf) => Promise<Round>;
type RoundsOf = (name: string) => readonly Round[];

/**
 * Dispatches beside the same requests to the SDK's server and to a bare route. All servers have the same `NODE_OPTIONS`;
 * each starts once, is warmed up once, and gets the most requests at a time first, when its task store is the smallest.
 */
export const dispatchSection: Section = {
  name: 'dispatch',
  about: 'dispatches beside the A2A SDK and a bare Fastify route: throughput, CPU, p50, p99',
  isDefault: true,
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const round = await startContenders(context, opened);
    const tables = [await warmUpAll(round)];
    const figures: Figure[] = [];
    for (const concurrency of context.concurrency.toSorted((a, b) => b - a)) {
      const of = await alternate(
        context.rounds,
        NAMES.map((name) => [name, () => round(name, { ...ROUND, concurrency })] as const),
      );
      tables.push(tableOf(concurrency, of));
      figures.push(...figuresOf(concurrency, of));
    }
    return { tables, figures };
  },
};

async function startContenders(context: BenchContext, opened: AsyncDisposableStack): Promise<RunRound> {
  const { NODE_OPTIONS: nodeOptions } = memberEnv(context.plan, context.plan.trader ?? context.plan.console);
  if (nodeOptions === undefined)
    throw new Error('the plan of the fleet has no NODE_OPTIONS for its services');
  const servers = new Map<ServerName, BenchServer>();
  for (const name of Object.keys(SERVERS) as ServerName[]) {
    const dir = join(context.dir, `dispatch-${name}`);
    mkdirSync(dir);
    const core = context.cores?.server;
    servers.set(name, opened.use(await startServer({ ...SERVERS[name], dir, core, nodeOptions })));
  }
  const load = await context.load();
  return (name, one) => {
    const { server, kind, expect } = CONTENDERS[name];
    const running = servers.get(server);
    if (!running) throw new Error(`${server} does not run`);
    return roundOf(load, running, { kind, expect, ...one });
  };
}

async function warmUpAll(round: RunRound): Promise<Table> {
  const rows: string[][] = [];
  for (const name of NAMES) {
    const { count, seconds } = await round(name, WARM_UP);
    rows.push([CONTENDERS[name].title, count.toLocaleString('en'), format(seconds)]);
  }
  const title = `Warm-up before the first round, ${WARM_UP.concurrency} at a time`;
  return { title, head: ['', 'requests', 'seconds'], rows };
}

const busyOf = (rounds: readonly Round[]): number => median(rounds.map(({ busy }) => busy));
const fewestOf = (rounds: readonly Round[]): number => Math.min(...rounds.map(({ count }) => count));

function tableOf(concurrency: number, of: RoundsOf): Table {
  const rows = NAMES.map((name) => {
    const rounds = of(name);
    const rival = RIVALS.find(([ours]) => ours === name)?.[1];
    const cell = (value: (round: Round) => number): string => format(median(rounds.map(value)));
    const ratio = (value: (round: Round) => number): string =>
      rival ? format(median(ratios(rounds.map(value), of(rival).map(value)))) : '';
    return [
      CONTENDERS[name].title,
      ...[cell((one) => one.rate), ratio((one) => one.rate), format(busyOf(rounds))],
      ...[cell((one) => one.cpuUs), ratio((one) => one.cpuUs), cell((one) => one.p50)],
      ...[cell((one) => one.p99), ratio((one) => one.p99)],
      ...[cell((one) => one.writtenKb), String(fewestOf(rounds))],
    ];
  });
  const compared = 'ratios to the SDK, and of blocked ones to the bare route';
  return {
    title: `Dispatches, ${concurrency} at a time; ${compared}; load or disk limit a server below ${BUSY} busy`,
    head: [
      ...['', 'per second', 'ratio', 'busy', 'CPU µs', 'ratio'],
      ...['p50 ms', 'p99 ms', 'ratio', 'kB written', 'fewest samples'],
    ],
    rows,
  };
}

function figuresOf(concurrency: number, of: RoundsOf): Figure[] {
  const key = (name: string): string => `dispatch.${concurrency}.${name}`;
  const own = NAMES.flatMap((name): Figure[] => {
    const samples = fewestOf(of(name));
    const figure = (
      what: string,
      unit: Figure['unit'],
      better: Figure['better'],
      value: (round: Round) => number,
    ): Figure => ({ key: key(`${name}_${what}`), unit, better, values: of(name).map(value), samples });
    return [
      figure('rate', 'per second', 'higher', ({ rate }) => rate),
      figure('busy', 'share', 'higher', ({ busy }) => busy),
      figure('cpu', 'µs', 'lower', ({ cpuUs }) => cpuUs),
      figure('p50', 'ms', 'lower', ({ p50 }) => p50),
      figure('p99', 'ms', 'lower', ({ p99 }) => p99),
      figure('written', 'kB', 'lower', ({ writtenKb }) => writtenKb),
    ];
  });
  const compared = RIVALS.flatMap(([ours, theirs]): Figure[] => {
    const samples = Math.min(fewestOf(of(ours)), fewestOf(of(theirs)));
    const ratio = (name: string, better: Figure['better'], value: (round: Round) => number): Figure => ({
      key: key(`${ours}_${name}_to_${theirs}`),
      unit: 'ratio',
      better,
      values: ratios(of(ours).map(value), of(theirs).map(value)),
      samples,
    });
    const cpu = ratio('cpu', 'lower', ({ cpuUs }) => cpuUs);
    const note = limitOf([ours, theirs], of, median(cpu.values));
    return [
      { ...ratio('rate', 'higher', ({ rate }) => rate), ...(note === undefined ? {} : { note }) },
      cpu,
      ratio('p50', 'lower', ({ p50 }) => p50),
      ratio('p99', 'lower', ({ p99 }) => p99),
    ];
  });
  return [...own, ...compared];
}

/** Says which rates are limited by something else than the server's processor; undefined if none is. */
function limitOf(names: readonly ContenderName[], of: RoundsOf, cpuRatio: number): string | undefined {
  const idle = names.filter((name) => busyOf(of(name)) < BUSY);
  if (idle.length === 0) return undefined;
  const each = idle.map((name) => `${CONTENDERS[name].title} ${format(busyOf(of(name)))} busy`).join(', ');
  return `limited by load or disk: ${each}; ratio of CPU ${format(cpuRatio)}`;
}
