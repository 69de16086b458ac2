import { callApi } from '../client/http.ts';
import { type Command, command, type Values } from '../command-line/command.ts';
import { noArguments, UsageError } from '../command-line/options.ts';
import { printLines } from '../command-line/output.ts';
import { findTrader, requireFleet } from '../command-line/running-fleet.ts';
import { type OrdersKind, readCsv, readOrders, renderOrders, renderPerformance } from '../trader/books.ts';
import { traderFillsUsage, traderOrdersUsage, traderPerformanceUsage } from '../usage/trader-books.ts';

const DEFAULT_LIMIT = 20;

/** `fleet trader orders` and `fleet trader fills`: print or export orders from the books, newest first. */
const ordersCommand = (usage: typeof traderOrdersUsage, kind: OrdersKind): Command =>
  command(usage, async ({ values, positionals, stdin, stdout, print }) => {
    noArguments(usage.name, positionals);
    const limit = limitOf(values);
    assertOneForm(values, print);
    return requireFleet(async () => {
      const { target } = await findTrader(values, stdin);
      const query = {
        ...rangeOf(values),
        ...texts({ strategy_id: values.strategy, decision_id: values.decision }),
        ...(values.oldest === true && { order: 'oldest' }),
      };
      if (values.csv === true)
        await readCsv(target, `/books/${kind}`, query, { limit, onPage: (text) => stdout.write(text) });
      else {
        const rows = await readOrders(target, kind, query, limit);
        if (print) print({ [kind]: rows });
        else printLines(stdout, renderOrders(rows));
      }
      return 0;
    });
  });

/** `fleet trader performance`: prints what an account, its strategies and its decisions have gained; or its equity as CSV. */
const performanceCommand = command(
  traderPerformanceUsage,
  async ({ values, positionals, stdin, stdout, print }) => {
    noArguments('trader performance', positionals);
    assertOneForm(values, print);
    return requireFleet(async () => {
      const { target } = await findTrader(values, stdin);
      const query = { ...rangeOf(values), ...texts({ points: values.points }) };
      if (values.csv === true) {
        await readCsv(target, '/books/performance', query, {
          limit: 1,
          onPage: (text) => stdout.write(text),
        });
        return 0;
      }
      const found = await callApi(target, `/books/performance?${new URLSearchParams(query)}`);
      if (print) print(found);
      else printLines(stdout, renderPerformance(found));
      return 0;
    });
  },
);

export const booksCommands: readonly Command[] = [
  ordersCommand(traderOrdersUsage, 'orders'),
  ordersCommand(traderFillsUsage, 'fills'),
  performanceCommand,
];

const texts = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );

const rangeOf = ({
  concern,
  from,
  to,
}: Values<typeof traderPerformanceUsage.options>): Record<string, string> =>
  texts({ concern_id: concern, from, to });

function assertOneForm(values: { readonly csv?: boolean | undefined }, print: unknown): void {
  if (values.csv === true && print !== undefined) throw new UsageError('choose one of --csv and --json');
}

function limitOf({ limit, all }: Values<typeof traderOrdersUsage.options>): number {
  if (all === true && limit !== undefined) throw new UsageError('choose one of --limit and --all');
  if (all === true) return Number.POSITIVE_INFINITY;
  if (limit === undefined) return DEFAULT_LIMIT;
  if (/^[1-9]\d{0,6}$/.test(limit)) return Number(limit);
  throw new UsageError(`--limit must be a whole number from 1 on, not "${limit}"`);
}
