import { readOperatorToken } from '@hermes-fleet/cli';
import type { Target } from '../../support/rpc.ts';
import {
  blockedDispatch,
  burst,
  latenciesOf,
  rateOf,
  refusedDispatch,
  smallDispatch,
} from '../fleet/dispatches.ts';
import { memoryRows, urlOf } from '../fleet/fleet.ts';
import { timeToReady } from '../fleet/start.ts';
import { median, p99Of } from '../frame/quantile.ts';
import { alternate, ratios, warmUp } from '../frame/rounds.ts';
import type { BenchContext, Figure, Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';

/** Start time and memory of a whole fleet. Starts it twice, because the first start compiles; leaves it running. */
export const startsSection: Section = {
  name: 'starts',
  about: 'start and memory of a whole fleet',
  isDefault: true,
  async run({ plan, fleet }) {
    const first = await fleet.start();
    const compiling = await memoryRows(plan);
    await fleet.stop();
    const second = await fleet.start();
    const compiled = await memoryRows(plan);
    return {
      tables: [
        {
          title: 'Whole fleet, including NATS, started in parallel',
          head: ['', 'ready in s'],
          rows: [
            ['first start, with keys and workspaces', format(first)],
            ['second start', format(second)],
          ],
        },
        {
          title: 'Memory in MB, idle after the first announces',
          head: ['', 'gateway RSS', 'gateway PSS', 'first start RSS', 'MCP servers RSS', 'MCP servers PSS'],
          rows: compiled.map(({ name, own, servers }, at) => [
            name,
            ...[own.rss, own.pss, compiling[at]?.own.rss ?? Number.NaN, servers.rss, servers.pss].map(format),
          ]),
        },
      ],
      figures: [
        { key: 'starts.first', unit: 's', better: 'lower', values: [first] },
        { key: 'starts.second', unit: 's', better: 'lower', values: [second] },
        ...compiled.map(
          ({ name, own }): Figure => ({
            key: `starts.rss_${name}`,
            unit: 'MB',
            better: 'lower',
            values: [own.rss],
          }),
        ),
      ],
    };
  },
};

/** Seconds of throughput in each round, and requests at a time. */
const RATE_MS = 1_000;
const PARALLEL = 8;
/** A round ends earlier when it has its samples. */
const ROUND_LIMIT_MS = 10_000;

/** Dispatches through switch beside the same dispatches to the worker; a round of each after the other. */
export const routedSection: Section = {
  name: 'routed',
  about: 'dispatches through switch beside asking the worker',
  isDefault: true,
  async run(context) {
    await context.fleet.start();
    const [worker, through] = [targetOf(context, 'neo'), targetOf(context, 'switch')];
    const kinds = [
      {
        name: 'blocked',
        title: 'blocked',
        count: 150,
        on: blockedDispatch(worker),
        via: blockedDispatch(through),
      },
      {
        name: 'refused',
        title: 'refused by the worker',
        count: 150,
        on: refusedDispatch(worker, 'neo'),
        via: refusedDispatch(through, 'neo'),
      },
      {
        name: 'small',
        title: 'one command',
        count: 15,
        on: smallDispatch(worker),
        via: smallDispatch(through),
      },
    ];
    const contenders = kinds.flatMap(({ name, count, on, via }) => [
      [`${name} on`, () => latenciesOf(on, count, ROUND_LIMIT_MS)] as const,
      [`${name} via`, () => latenciesOf(via, count, ROUND_LIMIT_MS)] as const,
    ]);
    await warmUp(contenders);
    const of = await alternate(context.rounds, contenders);
    const p50 = (name: string): number[] => of(name).map(median);
    const row = (title: string, name: string, base: string): string[] => {
      const all = of(name).flat();
      return [
        title,
        String(all.length),
        ...[median(p50(name)), p99Of(all), median(ratios(p50(name), p50(base)))].map(format),
      ];
    };
    const rates: number[] = [];
    const send = smallDispatch(through);
    for (let round = 0; round < context.rounds; round += 1) rates.push(await rateOf(send, PARALLEL, RATE_MS));
    return {
      tables: [
        {
          title: 'Routed: dispatch latency in ms, one at a time, on a worker and through switch',
          head: ['', 'samples', 'p50', 'p99', 'p50 ratio'],
          rows: kinds.flatMap(({ name, title }) => [
            row(title, `${name} on`, `${name} on`),
            row('  through switch', `${name} via`, `${name} on`),
          ]),
        },
        {
          title: `One command through switch, ${PARALLEL} at a time`,
          head: ['', 'per second'],
          rows: [['done', format(median(rates))]],
        },
      ],
      figures: [
        ...kinds.map(
          ({ name }): Figure => ({
            key: `routed.${name}_p50_to_worker`,
            unit: 'ratio',
            better: 'lower',
            values: ratios(p50(`${name} via`), p50(`${name} on`)),
            samples: Math.min(...of(`${name} via`).map(({ length }) => length)),
          }),
        ),
        { key: 'routed.small_rate', unit: 'per second', better: 'higher', values: rates },
      ],
    };
  },
};

/** The default of `fleet.limits.max_concurrent_tasks`. */
const SLOTS = 4;
const TASK_S = 2;

/** How close bursts of tasks through switch come to the ideal, in which no slot of a worker is free while a task waits. */
export const burstsSection: Section = {
  name: 'bursts',
  about: 'many tasks at once through switch, beside the ideal',
  isDefault: true,
  async run(context) {
    await context.fleet.start();
    const workers = context.plan.profiles.length - 1;
    const rows: string[][] = [];
    const figures: Figure[] = [];
    for (const count of [60, 100]) {
      const { seconds, byWorker } = await burst(targetOf(context, 'switch'), count, TASK_S);
      const ideal = Math.ceil(count / (workers * SLOTS)) * TASK_S;
      const spread = Object.entries(byWorker).sort();
      rows.push([
        `${count} tasks`,
        ...[seconds, ideal, seconds / ideal].map(format),
        spread.map(([worker, done]) => `${worker} ${done}`).join(', '),
      ]);
      figures.push({
        key: `bursts.${count}_to_ideal`,
        unit: 'ratio',
        better: 'lower',
        values: [seconds / ideal],
      });
    }
    return {
      tables: [
        {
          title: `Tasks of ${TASK_S} s, sent at once through switch to ${workers} workers of ${SLOTS} slots; aim: within 1.25 of the ideal`,
          head: ['', 'seconds', 'ideal', 'ratio', 'by worker'],
          rows,
        },
      ],
      figures,
    };
  },
};

const STARTS = 3;

/** Stops the fleet, then measures the start of one service at a time, with the ledger that the dispatches left. */
export const servicesSection: Section = {
  name: 'services',
  about: 'the start of each service alone',
  isDefault: true,
  async run(context) {
    // The services need its keys, folders and NATS configuration.
    await context.fleet.start();
    await context.fleet.stop();
    const rows: string[][] = [];
    const figures: Figure[] = [];
    for (const member of context.plan.members) {
      const times: number[] = [];
      for (let run = 0; run < STARTS; run += 1) times.push(await timeToReady(context.plan, member));
      rows.push([member.name, format(median(times)), format(Math.max(...times))]);
      figures.push({ key: `services.${member.name}`, unit: 'ms', better: 'lower', values: times });
    }
    const title = 'Time to ready in ms, one service at a time';
    return { tables: [{ title, head: ['', 'median', 'slowest'], rows }], figures };
  },
};

const targetOf = ({ plan }: BenchContext, profile: string): Target => ({
  url: urlOf(plan, profile),
  token: readOperatorToken(plan.keysDir),
});
