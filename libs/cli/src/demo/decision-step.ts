import type { Read } from '@hermes-fleet/net/api';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { TRADER_RPC } from '@hermes-fleet/protocol/api';
import { fleetApi, RPC_MS, type Target } from '../client/api.ts';
import { line, shown } from '../command-line/output.ts';
import { type Decided, decide } from '../trader/decide.ts';

type Strategy = Read<typeof TRADER_RPC.listStrategies>['strategies'][number];

/**
 * Switches the trader to a standby strategy as a careful caller does: a dry run, the decision, and the same decision
 * again, as after a lost answer. A second decision switches back, so that the trader ends as it began. `id` begins the ids of
 * the decisions, and must be new for every demo. Resolves with what was not as expected.
 */
export async function switchAndBack(
  trader: Target,
  id: string,
  write: (line: string) => void,
): Promise<readonly string[]> {
  const { strategies } = await fleetApi().rpc(trader, TRADER_RPC.listStrategies, {}, { timeoutMs: RPC_MS });
  const { active, standby } = pick(strategies);
  const nameOf = (strategyId: string | null): string =>
    shown(strategies.find((each) => each.id === strategyId)?.name);
  const problems: string[] = [];
  const send = async (name: string, payload: JsonObject, expected: string): Promise<Decided> => {
    const response = await decide(trader, JSON.stringify(payload));
    problems.push(...unexpected(name, response, expected));
    return response;
  };
  const summary = ({ status, from_strategy_id: from, to_strategy_id: to, risk_mode }: Decided): string =>
    `${status}: ${nameOf(from)} -> ${nameOf(to)}, risk mode ${shown(risk_mode)}`;

  const there = switchDecision(`${id}-there`, active, standby);
  const dry = await send('the dry run', { ...there, dry_run: true }, 'noop');
  write(line('dry run', `${dry.status}, would be ${shown(dry.result.would_status)}`));
  write(line('decision', summary(await send('the decision', there, 'applied'))));
  const copy = await send('the copy of the decision', there, 'noop');
  const warnings = copy.warnings.map(({ code }) => code);
  write(line('its copy', `${copy.status}: ${warnings.join(', ') || 'no warning'}`));
  if (!warnings.includes('duplicate_decision')) problems.push('the copy is not reported as a duplicate');
  if (active) {
    const back = switchDecision(`${id}-back`, standby, active);
    write(line('and back', summary(await send('the decision to switch back', back, 'applied'))));
  }
  return problems;
}

const switchDecision = (id: string, from: Strategy | undefined, to: Strategy): JsonObject => ({
  decision_id: id,
  concern_id: `${to.account_id}:${to.market_symbol}`,
  account_id: to.account_id,
  market_symbol: to.market_symbol,
  action: 'switch',
  target_strategy_id: to.id,
  expected_active_strategy_id: from?.id ?? null,
  reason: 'a demo of the fleet',
  confidence: 0.8,
  requested_at: new Date().toISOString(),
});

/** The active strategy, and a standby strategy for the same account and market. Throws NOT_FOUND without the latter. */
function pick(strategies: readonly Strategy[]): {
  readonly active: Strategy | undefined;
  readonly standby: Strategy;
} {
  const active = strategies.find(({ status }) => status === 'active');
  const standby = strategies.find(
    (each) =>
      each.status === 'standby' &&
      (active === undefined ||
        (each.account_id === active.account_id && each.market_symbol === active.market_symbol)),
  );
  if (!standby) throw new FleetError('NOT_FOUND', 'the trader has no standby strategy to switch to');
  return { active, standby };
}

function unexpected(name: string, { status, errors }: Decided, expected: string): string[] {
  if (status === expected) return [];
  const reasons = errors.map(({ code, message }) => `${code}: ${message}`);
  return [`${name} is ${status}, not ${expected}${reasons.length > 0 ? ` (${reasons.join('; ')})` : ''}`];
}
