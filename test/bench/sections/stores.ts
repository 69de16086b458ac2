import { median } from '../frame/quantile.ts';
import { alternate, ratios, warmUp } from '../frame/rounds.ts';
import type { Figure, Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { decisionRun, rawDecisionRun } from '../store/decisions.ts';
import { ledgerRun, rawRun } from '../store/ledger.ts';
import { fillLedger, QUERIES } from '../store/lists.ts';
import { bareRate, eventSize, outboxRate, startNats } from '../store/outbox.ts';
import { contest } from './contest.ts';

const LEDGER_MS = 500;
/** Of one task. */
const LEDGER_TRANSACTIONS = 2;
const DECISIONS_MS = 700;
const MANY = 64;
/** Events of one round, one at a time and with a window of MANY. */
const FEW_EVENTS = 400;
const MANY_EVENTS = 4_000;

/** Tasks in a small and in a large ledger, and pages of each round. */
const TASKS = [2_000, 20_000] as const;
const PAGES = 20;

type RatesOf = (name: string) => readonly number[];

const row = (of: RatesOf, title: string, name: string, rival: string): string[] => [
  title,
  format(median(of(name))),
  format(median(ratios(of(name), of(rival)))),
];

const ratio = (of: RatesOf, key: string, name: string, rival: string): Figure => ({
  key,
  unit: 'ratio',
  better: 'higher',
  values: ratios(of(name), of(rival)),
});

const HEAD = ['', 'per second', 'ratio'];

export const ledgerSection: Section = {
  name: 'ledger',
  about: 'tasks in the ledger beside single inserts of SQLite',
  isDefault: true,
  run: ({ dir, rounds }) =>
    contest({
      section: 'ledger',
      title:
        'Ledger: tasks, two durable transactions each; in this process, processor time of all its threads',
      rounds,
      raw: {
        title: 'SQLite alone, two inserts, each with its commit',
        run: () => rawRun(dir, LEDGER_TRANSACTIONS, LEDGER_MS),
      },
      ours: { title: 'ledger', run: (parallel) => ledgerRun(dir, parallel, LEDGER_MS) },
    }),
};

export const traderSection: Section = {
  name: 'trader',
  about: 'decisions of the trader beside the same rows in SQLite',
  isDefault: true,
  run: ({ dir, rounds }) =>
    contest({
      section: 'trader',
      title: 'Trader: applied decisions, each durable before its answer; in this process, without HTTP',
      rounds,
      raw: {
        title: 'SQLite alone, the rows of one decision per commit',
        run: () => rawDecisionRun(dir, DECISIONS_MS),
      },
      ours: { title: 'trader', run: (parallel) => decisionRun(dir, parallel, DECISIONS_MS) },
    }),
};

export const outboxSection: Section = {
  name: 'outbox',
  about: 'the outbox publisher beside bare JetStream',
  isDefault: true,
  async run({ dir, plan, rounds }) {
    await using nats = await startNats(dir, plan.nats.port);
    const bytes = await eventSize(dir);
    const contenders = [
      ['bare one', () => bareRate(nats, bytes, FEW_EVENTS, 1)],
      ['one', () => outboxRate(dir, nats, FEW_EVENTS, 1)],
      ['bare many', () => bareRate(nats, bytes, MANY_EVENTS, MANY)],
      ['many', () => outboxRate(dir, nats, MANY_EVENTS, MANY)],
    ] as const;
    await warmUp(contenders);
    const of = await alternate(rounds, contenders);
    const rows = [
      row(of, 'JetStream alone, one at a time', 'bare one', 'bare one'),
      row(of, 'outbox, one at a time', 'one', 'bare one'),
      row(of, `JetStream alone, ${MANY} in flight`, 'bare many', 'bare many'),
      row(of, `outbox, ${MANY} in flight`, 'many', 'bare many'),
    ];
    return {
      tables: [{ title: 'Outbox: events acknowledged by JetStream, in order', head: HEAD, rows }],
      figures: [
        ratio(of, 'outbox.one_to_bare', 'one', 'bare one'),
        ratio(of, 'outbox.many_to_bare', 'many', 'bare many'),
      ],
    };
  },
};

/** Target: a page takes below 5 ms, and as long in a large ledger as in a small one. */
export const listsSection: Section = {
  name: 'lists',
  about: 'pages of ListTasks in ledgers of 2,000 and 20,000 tasks',
  isDefault: true,
  async run({ dir, rounds }) {
    await using opened = new AsyncDisposableStack();
    const [small, large] = [
      opened.use(await fillLedger(dir, TASKS[0])),
      opened.use(await fillLedger(dir, TASKS[1])),
    ];
    const queries = Object.entries(QUERIES);
    const of = await alternate(
      rounds,
      queries.flatMap(([name, query]) =>
        [['small', small] as const, ['large', large] as const].map(
          ([size, ledger]) =>
            [
              `${name} ${size}`,
              () => median(Array.from({ length: PAGES }, () => ledger.page(query))),
            ] as const,
        ),
      ),
    );
    const rows = queries.map(([name]) => [
      name,
      ...['small', 'large'].map((size) => format(median(of(`${name} ${size}`)))),
      format(median(ratios(of(`${name} large`), of(`${name} small`)))),
    ]);
    const title = 'Lists: one page of ListTasks in the event loop, in ms; target: below 5, ratio 1';
    const head = ['', ...TASKS.map((count) => `${count.toLocaleString('en')} tasks`), 'ratio'];
    return {
      tables: [{ title, head, rows }],
      figures: [
        ...queries.map(
          ([name]): Figure => ({
            key: `lists.${name.replaceAll(' ', '_')}_large_to_small`,
            unit: 'ratio',
            better: 'lower',
            values: ratios(of(`${name} large`), of(`${name} small`)),
          }),
        ),
        {
          key: 'lists.slowest_page',
          unit: 'ms',
          better: 'lower',
          values: Array.from({ length: rounds }, (_, round) =>
            Math.max(...queries.map(([name]) => of(`${name} large`)[round] ?? Number.NaN)),
          ),
        },
      ],
    };
  },
};
