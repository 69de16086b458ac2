import { median } from '../frame/quantile.ts';
import { alternate, ratios } from '../frame/rounds.ts';
import type { Figure, Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { decisionRate, rawDecisionRate } from '../store/decisions.ts';
import { ledgerRate, rawRate } from '../store/ledger.ts';
import { fillLedger, QUERIES } from '../store/lists.ts';
import { bareRate, eventSize, outboxRate, startNats } from '../store/outbox.ts';

const LEDGER_MS = 500;
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
  about: 'transactions of the ledger beside single inserts of SQLite',
  isDefault: true,
  async run({ dir, rounds }) {
    const of = await alternate(rounds, [
      ['raw', () => rawRate(dir, LEDGER_MS)],
      ['one', () => ledgerRate(dir, 1, LEDGER_MS)],
      ['many', () => ledgerRate(dir, MANY, LEDGER_MS)],
    ]);
    const rows = [
      row(of, 'SQLite alone, one insert per commit', 'raw', 'raw'),
      row(of, 'ledger, one task at a time', 'one', 'raw'),
      row(of, `ledger, ${MANY} tasks at a time`, 'many', 'raw'),
    ];
    return {
      tables: [{ title: 'Ledger: durable transactions, two for each task', head: HEAD, rows }],
      figures: [ratio(of, 'ledger.one_to_raw', 'one', 'raw'), ratio(of, 'ledger.many_to_raw', 'many', 'raw')],
    };
  },
};

export const traderSection: Section = {
  name: 'trader',
  about: 'decisions of the trader beside the same rows in SQLite',
  isDefault: true,
  async run({ dir, rounds }) {
    const of = await alternate(rounds, [
      ['raw', () => rawDecisionRate(dir, DECISIONS_MS)],
      ['one', () => decisionRate(dir, 1, DECISIONS_MS)],
      ['many', () => decisionRate(dir, MANY, DECISIONS_MS)],
    ]);
    const rows = [
      row(of, 'SQLite alone, the rows of one decision per commit', 'raw', 'raw'),
      row(of, 'trader, one decision at a time', 'one', 'raw'),
      row(of, `trader, ${MANY} decisions at a time`, 'many', 'raw'),
    ];
    return {
      tables: [{ title: 'Trader: applied decisions, each durable before its answer', head: HEAD, rows }],
      figures: [ratio(of, 'trader.one_to_raw', 'one', 'raw'), ratio(of, 'trader.many_to_raw', 'many', 'raw')],
    };
  },
};

export const outboxSection: Section = {
  name: 'outbox',
  about: 'the outbox publisher beside bare JetStream',
  isDefault: true,
  async run({ dir, plan, rounds }) {
    await using nats = await startNats(dir, plan.nats.port);
    const bytes = await eventSize(dir);
    const of = await alternate(rounds, [
      ['bare one', () => bareRate(nats, bytes, FEW_EVENTS, 1)],
      ['one', () => outboxRate(dir, nats, FEW_EVENTS, 1)],
      ['bare many', () => bareRate(nats, bytes, MANY_EVENTS, MANY)],
      ['many', () => outboxRate(dir, nats, MANY_EVENTS, MANY)],
    ]);
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
      figures: queries.map(([name]) => ({
        key: `lists.${name.replaceAll(' ', '_')}_large_to_small`,
        unit: 'ratio',
        better: 'lower',
        values: ratios(of(`${name} large`), of(`${name} small`)),
      })),
    };
  },
};
