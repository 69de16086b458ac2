import { median } from './quantile.ts';
import type { Figure, Table } from './section.ts';
import { format } from './table.ts';

interface Target {
  readonly name: string;
  /** The figure that it is about. */
  readonly key: string;
  readonly must: number;
  readonly aim: number;
}

/** What the fleet must reach and aims at, beside its contenders (docs/performance.md#targets). */
export const TARGETS: readonly Target[] = [
  {
    name: 'durable dispatch, 32 at a time: throughput beside the SDK',
    key: 'dispatch.32.durable_rate_to_sdk',
    must: 1,
    aim: 1.4,
  },
  { name: '  CPU per request, µs', key: 'dispatch.32.durable_cpu', must: 110, aim: 85 },
  { name: '  p99 beside the SDK', key: 'dispatch.32.durable_p99_to_sdk', must: 2, aim: 1 },
  { name: '  kB written per task', key: 'dispatch.32.durable_written', must: 20, aim: 20 },
  { name: 'durable dispatch, one at a time: p50, ms', key: 'dispatch.1.durable_p50', must: 0.8, aim: 0.5 },
  {
    name: 'blocked, 32 at a time: throughput beside Fastify and zod',
    key: 'dispatch.32.blocked_rate_to_bare',
    must: 0.2,
    aim: 0.25,
  },
  {
    name: 'refused through switch, one at a time: p50 beside asking the worker',
    key: 'routed.refused_p50_to_worker',
    must: 3,
    aim: 2,
  },
  { name: 'trader, one at a time: beside SQLite', key: 'trader.rate_1_to_raw', must: 0.6, aim: 0.7 },
  { name: 'trader, 64 at a time: beside SQLite', key: 'trader.rate_64_to_raw', must: 2, aim: 3 },
  { name: 'backtest of a file of 300,000 bars, s', key: 'backtest.seconds', must: 20, aim: 10 },
  {
    name: 'import of a profile from the package beside the sources: CPU',
    key: 'start.cpu_to_sources',
    must: 0.6,
    aim: 0.5,
  },
  { name: 'the slowest page of ListTasks, ms', key: 'lists.slowest_page', must: 5, aim: 5 },
  { name: 'the slowest view of the console, p95, ms', key: 'console.slowest_p95', must: 100, aim: 50 },
  { name: 'the console over a million events, MB', key: 'console.memory', must: 120, aim: 120 },
];

/** The targets whose figures were measured, with their outcome; undefined if none was. */
export function targetTable(figures: readonly Figure[]): Table | undefined {
  const rows = TARGETS.flatMap((target) => {
    const figure = figures.find(({ key }) => key === target.key);
    if (!figure) return [];
    const value = median(figure.values);
    const cells = [target.must, target.aim, value].map(format);
    const row = [target.name, ...cells, outcome(value, target, figure.better)];
    return figure.note === undefined ? [row] : [row, [`    ${figure.note}`, '', '', '', '']];
  });
  if (rows.length === 0) return undefined;
  return { title: 'Targets', head: ['', 'must', 'aim', 'measured', ''], rows };
}

function outcome(value: number, { must, aim }: Target, better: Figure['better']): string {
  const reaches = (limit: number): boolean => (better === 'higher' ? value >= limit : value <= limit);
  if (reaches(aim)) return 'aim met';
  return reaches(must) ? 'met' : 'missed';
}
