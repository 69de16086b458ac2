import { callApi } from '../client/http.ts';
import { type Command, command, type OptionSpecs, type Values } from '../command-line/command.ts';
import { noArguments, UsageError } from '../command-line/options.ts';
import { printLines } from '../command-line/output.ts';
import { FLEET_OPTIONS, findTrader, requireFleet } from '../command-line/running-fleet.ts';
import { type OrdersKind, readCsv, readOrders, renderOrders, renderPerformance } from '../trader/books.ts';

const { profile: _, ...TRADER_OPTIONS } = FLEET_OPTIONS;

const RANGE_OPTIONS = {
  ...TRADER_OPTIONS,
  concern: { type: 'string', value: 'account:market', help: 'needed if the trader has several' },
  from: { type: 'string', value: 'time', help: 'from this time on, such as 2026-04-16T20:15:00Z' },
  to: { type: 'string', value: 'time', help: 'before this time' },
  csv: { type: 'boolean', help: 'print CSV' },
} as const satisfies OptionSpecs;

const ORDER_OPTIONS = {
  ...RANGE_OPTIONS,
  strategy: { type: 'string', value: 'id', help: 'of this strategy only' },
  decision: { type: 'string', value: 'id', help: 'caused by this decision only' },
  oldest: { type: 'boolean', help: 'the oldest first' },
  limit: { type: 'string', value: 'count', help: 'how many; 20 by default' },
  all: { type: 'boolean', help: 'all of them' },
} as const satisfies OptionSpecs;

const DEFAULT_LIMIT = 20;

/** `fleet trader orders` and `fleet trader fills`: print or export orders from the books, newest first. */
const ordersCommand = (kind: OrdersKind, summary: string): Command =>
  command({
    name: `trader ${kind}`,
    summary,
    options: ORDER_OPTIONS,
    examples: [`trader ${kind} --limit 5`, `trader ${kind} --all --oldest --csv > ${kind}.csv`],
    run: async ({ values, positionals, stdin, stdout, print }) => {
      noArguments(`trader ${kind}`, positionals);
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
    },
  });

/** `fleet trader performance`: prints what an account, its strategies and its decisions have gained; or its equity as CSV. */
const performanceCommand = command({
  name: 'trader performance',
  summary: 'print return, drawdown and ratios of the account, of strategies and of decisions',
  options: {
    ...RANGE_OPTIONS,
    points: { type: 'string', value: 'count', help: 'points of the equity in JSON and CSV; 300 by default' },
  },
  examples: ['trader performance', 'trader performance --csv --points 1000 > equity.csv'],
  run: async ({ values, positionals, stdin, stdout, print }) => {
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
});

export const booksCommands: readonly Command[] = [
  ordersCommand('orders', 'print what happened to orders, newest first'),
  ordersCommand('fills', 'print fills with fees and realized profit, newest first'),
  performanceCommand,
];

const texts = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );

const rangeOf = ({ concern, from, to }: Values<typeof RANGE_OPTIONS>): Record<string, string> =>
  texts({ concern_id: concern, from, to });

function assertOneForm(values: { readonly csv?: boolean | undefined }, print: unknown): void {
  if (values.csv === true && print !== undefined) throw new UsageError('choose one of --csv and --json');
}

function limitOf({ limit, all }: Values<typeof ORDER_OPTIONS>): number {
  if (all === true && limit !== undefined) throw new UsageError('choose one of --limit and --all');
  if (all === true) return Number.POSITIVE_INFINITY;
  if (limit === undefined) return DEFAULT_LIMIT;
  if (/^[1-9]\d{0,6}$/.test(limit)) return Number(limit);
  throw new UsageError(`--limit must be a whole number from 1 on, not "${limit}"`);
}
