import { describeFault } from './faults/plan.ts';
import type { Quantiles } from './load/figures.ts';
import { CALLERS } from './load/workload.ts';
import { commandOf } from './options.ts';
import type { SimResult } from './simulate.ts';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
const whole = (value: number): string => value.toLocaleString('en');
const quantiles = ({ mean, p50, p99, max }: Quantiles): string =>
  `mean ${seconds(mean)}, p50 ${seconds(p50)}, p99 ${seconds(p99)}, longest ${seconds(max)}`;

/** The report of a run. It holds nothing but virtual time and counts, so that equal settings give equal bytes. */
export function reportOf(result: SimResult): string {
  const { settings, faults, counts, figures, announces, messages, endedAt, events, givenUp } = result;
  const virtualS = endedAt / 1000;
  const perWorker = announces.sent / settings.workers / virtualS;
  const statuses = [...figures.statuses].sort().map(([status, count]) => `${status} ${whole(count)}`);
  const shares = [...figures.fairness.shares()].map(([caller, share]) => `${caller} ${share.toFixed(2)}`);
  return [
    commandOf(settings),
    `tasks: accepted ${whole(counts.accepted)}, ended ${whole(counts.ended)} (${statuses.join(', ')}), given up ${whole(givenUp)}`,
    `queue time: ${quantiles(figures.wait())}`,
    `ideal: ${quantiles(figures.ideal())}`,
    `most tasks waiting: ${whole(figures.mostWaiting)}`,
    `fairness: ${figures.fairness.index().toFixed(3)} (places over the equal share, while several callers wait: ${shares.join(', ')})`,
    ...CALLERS.map((caller) => `  ${caller}: queue time ${quantiles(figures.waitOf(caller))}`),
    `announces: ${whole(announces.sent)} sent, ${perWorker.toFixed(3)} a second and worker, ${kib(announces.bytes / Math.max(1, announces.sent))} each, answers ${kib(announces.answerBytes / Math.max(1, announces.answered))}`,
    `network: ${whole(messages.sent)} messages, ${whole(messages.lost)} lost, ${whole(messages.duplicated)} requests delivered twice`,
    `faults: ${faults.length}`,
    ...faults.map((fault) => `  ${describeFault(fault)}`),
    `virtual time ${virtualS.toFixed(1)} s, ${whole(events)} events`,
    verdictOf(result),
  ].join('\n');
}

/** The last line of the report. */
export function verdictOf({ settings, violation }: SimResult): string {
  if (!violation) return `seed ${settings.seed}: every invariant holds`;
  const { invariant, detail, at } = violation;
  return `seed ${settings.seed}: VIOLATION of "${invariant}" at ${seconds(at)}: ${detail}`;
}
