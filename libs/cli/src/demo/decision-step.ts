import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';
import type { Target } from '../client/http.ts';
import { decide, listStrategies } from '../trader/client.ts';
import { row } from './steps.ts';

/**
 * Switches the trader to a standby strategy as a careful caller does: a dry run, the decision, and the same decision
 * again, as after a lost answer. A second decision switches back, so that the trader ends as it began. Resolves with
 * what was not as expected.
 */
export async function switchAndBack({
  trader,
  id,
  write,
}: {
  readonly trader: Target;
  /** Prefix of the decision ids; must be new for every demo. */
  readonly id: string;
  readonly write: (line: string) => void;
}): Promise<readonly string[]> {
  const strategies = await listStrategies(trader, {});
  const { active, standby } = pick(strategies);
  const nameOf = (strategyId: string): string =>
    textAt(strategies.find((each) => textAt(each, 'id') === strategyId) ?? {}, 'name');
  const problems: string[] = [];
  const send = async (name: string, payload: JsonObject, expected: string): Promise<JsonObject> => {
    const response = await decide(trader, JSON.stringify(payload));
    problems.push(...unexpected(name, response, expected));
    return response;
  };
  const summary = (response: JsonObject): string => {
    const [from, to] = ['from_strategy_id', 'to_strategy_id'].map((key) => nameOf(textAt(response, key)));
    return `${textAt(response, 'status')}: ${from} -> ${to}, risk mode ${textAt(response, 'risk_mode')}`;
  };

  const there = switchDecision({ id: `${id}-there`, from: active, to: standby });
  const dry = await send('the dry run', { ...there, dry_run: true }, 'noop');
  const would = textAt(objectAt(dry, 'result'), 'would_status');
  write(row('dry run', `${textAt(dry, 'status')}, would be ${would}`));
  write(row('decision', summary(await send('the decision', there, 'applied'))));
  const copy = await send('the copy of the decision', there, 'noop');
  const warnings = objectsAt(copy, 'warnings').map((warning) => textAt(warning, 'code'));
  write(row('its copy', `${textAt(copy, 'status')}: ${warnings.join(', ') || 'no warning'}`));
  if (!warnings.includes('duplicate_decision')) problems.push('the copy is not reported as a duplicate');
  if (active) {
    const back = switchDecision({ id: `${id}-back`, from: standby, to: active });
    write(row('and back', summary(await send('the decision to switch back', back, 'applied'))));
  }
  return problems;
}

const switchDecision = ({
  id,
  from,
  to,
}: {
  readonly id: string;
  readonly from: JsonObject | undefined;
  readonly to: JsonObject;
}): JsonObject => ({
  decision_id: id,
  concern_id: `${textAt(to, 'account_id')}:${textAt(to, 'market_symbol')}`,
  account_id: textAt(to, 'account_id'),
  market_symbol: textAt(to, 'market_symbol'),
  action: 'switch',
  target_strategy_id: textAt(to, 'id'),
  expected_active_strategy_id: from ? textAt(from, 'id') : null,
  reason: 'a demo of the fleet',
  confidence: 0.8,
  requested_at: new Date().toISOString(),
});

/** The active strategy, and a standby strategy for the same account and market. Throws NOT_FOUND without the latter. */
function pick(strategies: readonly JsonObject[]): {
  readonly active: JsonObject | undefined;
  readonly standby: JsonObject;
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

function unexpected(name: string, response: JsonObject, expected: string): string[] {
  if (response.status === expected) return [];
  const reasons = objectsAt(response, 'errors').map(
    (error) => `${textAt(error, 'code')}: ${textAt(error, 'message')}`,
  );
  const detail = reasons.length > 0 ? ` (${reasons.join('; ')})` : '';
  return [`${name} is ${textAt(response, 'status')}, not ${expected}${detail}`];
}
