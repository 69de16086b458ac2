import { createSpending, readSpending, type Spending } from '@hermes-fleet/tasks';
import type { GatewayOptions } from './gateway-options.ts';

/** Continues the counters where the last process ended, and follows the ledger with them and with the spending. */
export function followFigures(
  options: Pick<
    GatewayOptions,
    'profile' | 'config' | 'clock' | 'defaultBudget' | 'countCache' | 'ledger' | 'metrics' | 'log' | 'agent'
  >,
  versions: readonly string[],
): Spending {
  const { metrics, log } = options;
  const { figures } = options.ledger;
  const spending = createSpending({
    ...options,
    versions,
    figures,
    defaultBudget: options.defaultBudget,
    countCache: options.countCache ?? false,
    ownSpends: options.agent.minimumBudget > 0,
    onClockBehind: (clockDay, day) =>
      log.warn(
        { clock_day: clockDay, day },
        `the clock is on ${clockDay}, before ${day}, for which tokens are booked: further ones count for ${day} until the clock is there, or until it has been behind for 24 hours of running`,
      ),
  });
  metrics.count(figures.totals());
  readSpending(metrics, spending.view);
  figures.follow({ counted: metrics.count, booked: spending.booked, ended: spending.ended });
  return spending;
}
