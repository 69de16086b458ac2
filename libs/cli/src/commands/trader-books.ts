import type { Writable } from 'node:stream';
import { csvPages, type Service } from '@hermes-fleet/net/api';
import { definedFields } from '@hermes-fleet/protocol';
import { TRADER } from '@hermes-fleet/protocol/api';
import { fleetApi } from '../client/api.ts';
import { command, type Values } from '../command-line/command.ts';
import { UsageError, wholeNumber } from '../command-line/option-values.ts';
import {
  traderFillsUsage,
  traderOrdersUsage,
  traderPerformanceUsage,
} from '../command-specs/trader-books.ts';
import { findTrader } from '../running/running-fleet.ts';
import { type OrdersKind, readOrders, renderOrders, renderPerformance } from '../trader/books.ts';

const DEFAULT_LIMIT = 20;

/** `fleet trader orders` and `fleet trader fills`: print or export orders from the books, newest first. */
const ordersCommand = (usage: typeof traderOrdersUsage, kind: OrdersKind) =>
  command(usage, async ({ values, env, stdout, print, show }) => {
    const limit = limitOf(values);
    assertOneForm(values, print);
    const target = await findTrader(values, env);
    const query = {
      ...rangeOf(values),
      ...definedFields({ strategy_id: values.strategy, decision_id: values.decision }),
      ...(values.oldest === true && { order: 'oldest' }),
    };
    if (values.csv === true) await writeCsv(stdout, target, TRADER[kind].path, query, limit);
    else {
      const rows = await readOrders(target, kind, query, limit);
      show({ [kind]: rows }, () => renderOrders(rows));
    }
  });

/** `fleet trader performance`: prints what an account, its strategies and its decisions have gained; or its equity as CSV. */
const performanceCommand = command(traderPerformanceUsage, async ({ values, env, stdout, print, show }) => {
  assertOneForm(values, print);
  const target = await findTrader(values, env);
  const query = { ...rangeOf(values), ...definedFields({ points: values.points }) };
  if (values.csv === true) await writeCsv(stdout, target, TRADER.performance.path, query);
  else show(await fleetApi().call(target, TRADER.performance, { query }), renderPerformance);
});

export const commands = [
  ordersCommand(traderOrdersUsage, 'orders'),
  ordersCommand(traderFillsUsage, 'fills'),
  performanceCommand,
];

async function writeCsv(
  stdout: Writable,
  trader: Service,
  path: string,
  query: Readonly<Record<string, string>>,
  limit?: number,
): Promise<void> {
  for await (const page of csvPages(fleetApi(), trader, path, query, limit)) stdout.write(page);
}

const rangeOf = ({
  concern,
  from,
  to,
}: Values<typeof traderPerformanceUsage.options>): Record<string, string> =>
  definedFields({ concern_id: concern, from, to });

function assertOneForm(values: { readonly csv?: boolean | undefined }, print: unknown): void {
  if (values.csv === true && print !== undefined) throw new UsageError('choose one of --csv and --json');
}

function limitOf({ limit, all }: Values<typeof traderOrdersUsage.options>): number {
  if (all === true && limit !== undefined) throw new UsageError('choose one of --limit and --all');
  if (all === true) return Number.POSITIVE_INFINITY;
  return wholeNumber('limit', limit, DEFAULT_LIMIT, [1, Infinity]);
}
