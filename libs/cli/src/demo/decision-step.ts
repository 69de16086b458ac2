import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';
import type { Caller } from '../client/http.ts';
import { decide, listStrategies } from '../trader/client.ts';
import { row } from './steps.ts';

/**
 * A decision at the trader, the way that a careful caller makes it: a dry run, the same for real, and a copy, as after
 * a lost answer. It switches to a strategy that stands by; a second decision switches back, so the trader goes on as it
 * did. Resolves with what was not as it should be.
 */
export async function decideOnce(o: {
  readonly trader: Caller;
  /** Names the decisions: another one is another pair. */
  readonly id: string;
  readonly write: (line: string) => void;
}): Promise<readonly string[]> {
  const strategies = await listStrategies(o.trader, {});
  const { active, target } = pick(strategies);
  const nameOf = (id: string): string =>
    textAt(strategies.find((each) => textAt(each, 'id') === id) ?? {}, 'name');
  const problems: string[] = [];
  const send = async (name: string, payload: JsonObject, wanted: string): Promise<JsonObject> => {
    const response = await decide(o.trader, JSON.stringify(payload));
    problems.push(...unlike(name, response, wanted));
    return response;
  };
  const moved = (response: JsonObject): string => {
    const [from, to] = ['from_strategy_id', 'to_strategy_id'].map((key) => nameOf(textAt(response, key)));
    return `${textAt(response, 'status')}: ${from} -> ${to}, risk mode ${textAt(response, 'risk_mode')}`;
  };

  const there = switchTo(target, active, `${o.id}-there`);
  const dry = await send('the dry run', { ...there, dry_run: true }, 'noop');
  const would = textAt(objectAt(dry, 'result'), 'would_status');
  o.write(row('dry run', `${textAt(dry, 'status')}, would be ${would}`));
  o.write(row('decision', moved(await send('the decision', there, 'applied'))));
  const copy = await send('the copy of the decision', there, 'noop');
  const warnings = objectsAt(copy, 'warnings').map((warning) => textAt(warning, 'code'));
  o.write(row('its copy', `${textAt(copy, 'status')}: ${warnings.join(', ') || 'no warning'}`));
  if (!warnings.includes('duplicate_decision')) problems.push('the copy is not called a duplicate');
  if (active) {
    const back = switchTo(active, target, `${o.id}-back`);
    o.write(row('and back', moved(await send('the decision to switch back', back, 'applied'))));
  }
  return problems;
}

/** A switch to a strategy from what is active; undefined: nothing is. */
const switchTo = (target: JsonObject, active: JsonObject | undefined, id: string): JsonObject => ({
  decision_id: id,
  concern_id: `${textAt(target, 'account_id')}:${textAt(target, 'market_symbol')}`,
  account_id: textAt(target, 'account_id'),
  market_symbol: textAt(target, 'market_symbol'),
  action: 'switch',
  target_strategy_id: textAt(target, 'id'),
  expected_active_strategy_id: active ? textAt(active, 'id') : null,
  reason: 'a demo of the fleet',
  confidence: 0.8,
  requested_at: new Date().toISOString(),
});

/** What is active, and what stands by for the same account and market. */
function pick(strategies: readonly JsonObject[]): {
  readonly active: JsonObject | undefined;
  readonly target: JsonObject;
} {
  const active = strategies.find(({ status }) => status === 'active');
  const target = strategies.find(
    (each) =>
      each.status === 'standby' &&
      (active === undefined ||
        (each.account_id === active.account_id && each.market_symbol === active.market_symbol)),
  );
  if (!target) throw new FleetError('NOT_FOUND', 'the trader has no strategy that could be switched to');
  return { active, target };
}

function unlike(what: string, response: JsonObject, status: string): string[] {
  if (response.status === status) return [];
  const why = objectsAt(response, 'errors').map(
    (error) => `${textAt(error, 'code')}: ${textAt(error, 'message')}`,
  );
  return [
    `${what} is ${textAt(response, 'status')}, not ${status}${why.length > 0 ? ` (${why.join('; ')})` : ''}`,
  ];
}
