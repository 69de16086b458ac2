import { median } from '../frame/quantile.ts';
import { alternate, ratios } from '../frame/rounds.ts';
import type { Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { decisionTime, dispatchRequiring, equalFleet, mixedFleet } from '../peers/routing.ts';
import { schedulingTime } from '../peers/scheduling.ts';

const FEW = 10;
const MANY = 1_000;
const WAITING = [10, 1_000, 10_000];

/** Target: a median below 1 ms for 1,000 peers. */
export const routingSection: Section = {
  name: 'routing',
  about: 'one routing decision among 10 and 1,000 peers',
  isDefault: true,
  async run() {
    const common = dispatchRequiring(['filesystem'], ['file', 'terminal']);
    const impossible = dispatchRequiring(['nope'], []);
    const many = mixedFleet(MANY);
    const times = [
      [`${FEW} peers of every kind`, decisionTime(mixedFleet(FEW), common, 2_000)],
      ['1,000 peers of every kind', decisionTime(many, common, 1_000)],
      ['1,000 equal peers', decisionTime(equalFleet(MANY), common, 1_000)],
      ['1,000 peers, none of them suitable', decisionTime(many, impossible, 1_000)],
    ] as const;
    const rows = times.map(([name, { p50, p99 }]) => [name, format(p50), format(p99)]);
    const title = 'Routing: one decision with its explanation, in ms; target: p50 below 1';
    const slowest = times.map(([, { p50 }]) => p50);
    return {
      tables: [{ title, head: ['', 'p50', 'p99'], rows }],
      figures: [{ key: 'routing.slowest_p50', unit: 'ms', better: 'lower', values: [Math.max(...slowest)] }],
    };
  },
};

/** Target: the cost of a waiting task does not grow with the number of those that wait. */
export const schedulingSection: Section = {
  name: 'scheduling',
  about: 'the scheduler with up to 10,000 waiting tasks',
  isDefault: true,
  async run({ rounds }) {
    await schedulingTime(MANY);
    const of = await alternate(
      rounds,
      WAITING.flatMap((count) => [
        [`${count}`, () => schedulingTime(count)] as const,
        [`${count} changing`, () => schedulingTime(count, Number.POSITIVE_INFINITY)] as const,
      ]),
    );
    const rows = WAITING.map((count) => [
      `${count.toLocaleString('en')} tasks wait`,
      ...[`${count}`, `${count} changing`].map((name) => format(median(of(name)))),
    ]);
    return {
      tables: [
        {
          title: 'Scheduling: one task from its arrival to its end, in µs; target: the same for any number',
          head: ['', 'each', 'needs may change'],
          rows,
        },
      ],
      figures: [
        {
          key: 'scheduling.10000_to_1000',
          unit: 'ratio',
          better: 'lower',
          values: ratios(of('10000'), of('1000')),
        },
      ],
    };
  },
};
