import type { JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../ask/read.ts';

/** The trader's answer to a decision for people. */
export function renderDecision(response: JsonObject): string[] {
  const result = objectAt(response, 'result');
  const { would_status: would, canceled_orders: canceled, inherited_position: inherited } = result;
  const said = (kind: string) => (each: JsonObject) => {
    const field = typeof each.field === 'string' ? ` (${each.field})` : '';
    return `  ${kind} ${textAt(each, 'code')}${field}: ${textAt(each, 'message')}`;
  };
  return [
    `${textAt(response, 'status')}: ${textAt(response, 'action')} at ${textAt(response, 'concern_id')}` +
      `${response.dry_run === true ? ', a dry run' : ''} (${textAt(response, 'decision_id')})`,
    `  active     ${textAt(response, 'from_strategy_id')} -> ${textAt(response, 'to_strategy_id')}`,
    `  risk mode  ${textAt(response, 'risk_mode')}`,
    ...(would === undefined ? [] : [`  would be   ${String(would)}`]),
    ...(canceled === undefined ? [] : [`  canceled   ${String(canceled)} orders`]),
    ...(inherited === undefined ? [] : [`  inherited  a position of ${String(inherited)}`]),
    ...objectsAt(response, 'warnings').map(said('warning')),
    ...objectsAt(response, 'errors').map(said('error')),
  ];
}
