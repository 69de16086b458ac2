import type { Feed, RuntimeConcern, Strategy } from '@hermes-fleet/market';
import { readMarket } from '@hermes-fleet/market';
import { BREAKER } from '../control/access.ts';
import type { TraderConfig } from './schema.ts';

/** The id of the concern of an account in a market. */
export const concernId = (accountId: string, marketSymbol: string): string => `${accountId}:${marketSymbol}`;

export type Settings = ReturnType<typeof settingsOf>;

/** The settings of trader.yaml in the types of their consumers. */
export function settingsOf({ trader }: TraderConfig) {
  const { policy, rate, audit, callers, concerns, strategies, accounts } = trader;
  return {
    policy: {
      maxAgeMs: policy.max_age_s * 1000,
      futureSlackMs: policy.future_slack_s * 1000,
      minConfidence: policy.min_confidence,
      strictDegraded: policy.strict_degraded,
    },
    access: {
      accountsOf(caller: string): readonly string[] | '*' {
        if (caller === BREAKER) return '*';
        const accounts = Object.hasOwn(callers, caller) ? (callers[caller]?.accounts ?? []) : [];
        return accounts.includes('*') ? '*' : accounts;
      },
    },
    limits: { perSecond: rate.per_second, burst: rate.burst, keptForPause: rate.kept_for_pause },
    /** The time between two verifications of the audit, ms. */
    verifyEveryMs: audit.verify_every_s * 1000,
    /** With `concerns`, the input of `ControlStore.seed`. */
    strategies: strategies.map(
      ({ account_id, market_symbol, ...strategy }): Strategy => ({
        ...strategy,
        accountId: account_id,
        marketSymbol: market_symbol,
      }),
    ),
    concerns: concerns.map(({ account_id, market_symbol, active_strategy_id, run_state, risk_mode }) => ({
      id: concernId(account_id, market_symbol),
      accountId: account_id,
      marketSymbol: market_symbol,
      activeStrategyId: active_strategy_id,
      runState: run_state,
      riskMode: risk_mode,
    })),
    breakers: {
      concerns: concerns.map(({ account_id, market_symbol, breakers }) => ({
        id: concernId(account_id, market_symbol),
        accountId: account_id,
        breakers,
      })),
      accounts: Object.fromEntries(Object.entries(accounts).map(([id, { breakers }]) => [id, breakers])),
    },
  };
}

/** The concerns with their markets and feeds, for the runtime. */
export function runtimeConcerns(
  { trader }: TraderConfig,
  feeds: ReadonlyMap<string, Feed>,
): RuntimeConcern[] {
  return trader.concerns.flatMap(({ account_id, market_symbol, degraded, ...market }) => {
    const id = concernId(account_id, market_symbol);
    const feed = feeds.get(id);
    return feed ? [{ id, market: readMarket(market), feed, degraded }] : [];
  });
}
