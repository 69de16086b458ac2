import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt, textsAt } from '../client/fields.ts';
import { columns } from '../command-line/output.ts';
import { percent } from './percent.ts';

/** Lines for the trader's answer to a decision. */
export function renderDecision(response: JsonObject): string[] {
  const result = objectAt(response, 'result');
  const { would_status: would, canceled_orders: canceled, inherited_position: inherited } = result;
  const finding = (kind: string) => (each: JsonObject) => {
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
    ...objectsAt(response, 'warnings').map(finding('warning')),
    ...objectsAt(response, 'errors').map(finding('error')),
  ];
}

/** Lines for the answer to `get_strategy`. */
export function renderStrategy(found: JsonObject): string[] {
  const [strategy, control] = [objectAt(found, 'strategy'), objectAt(found, 'control')];
  const [position, equity] = [objectAt(found, 'position'), objectAt(found, 'equity')];
  const [orders, execution] = [objectAt(found, 'orders'), objectAt(found, 'execution')];
  const open = objectsAt(orders, 'open');
  const decisions = objectsAt(found, 'last_decisions');
  const reasons = textsAt(execution, 'reasons');
  return [
    `${textAt(strategy, 'name')} (${textAt(strategy, 'kind')}), ${textAt(strategy, 'status')}: ${textAt(strategy, 'id')}`,
    line('concern', textAt(control, 'concern_id')),
    line('active', textAt(control, 'active_strategy_id')),
    line('control', `${textAt(control, 'run_state')}, risk mode ${textAt(control, 'risk_mode')}`),
    line('position', `${textAt(position, 'quantity')} at ${textAt(position, 'average_price')}`),
    line('equity', `${textAt(equity, 'total')}, of which cash ${textAt(equity, 'cash')}`),
    ...performance(objectAt(found, 'performance')),
    line('execution', [textAt(execution, 'state'), ...reasons].join('; ')),
    line('orders', open.length === 0 ? 'none open' : `${open.length} open`),
    ...indented(['side', 'kind', 'quantity', 'limit_price', 'purpose'], open),
    line('decisions', decisions.length === 0 ? 'none yet' : 'newest first'),
    ...indented(['decided_at', 'action', 'status', 'caller', 'decision_id'], decisions),
  ];
}

const line = (name: string, value: string): string => `  ${name.padEnd(10)} ${value}`;

/** Nothing for a trader without books, or whose books are not read yet. */
function performance(found: JsonObject): string[] {
  const { account, strategy } = found;
  if (!isJsonObject(account)) return [];
  const { return: gain, drawdown, max_drawdown: most } = account;
  const whole = `${percent(gain)}, drawdown ${percent(drawdown)} now, ${percent(most)} at most`;
  return [line('return', whole), line('own', isJsonObject(strategy) ? own(strategy) : 'it was never active')];
}

const own = (figures: JsonObject): string =>
  [
    percent(figures.return),
    `drawdown ${percent(figures.max_drawdown)} at most`,
    `${textAt(figures, 'realized_profit')} realized`,
    `${textAt(figures, 'fees')} fees`,
    `${textAt(figures, 'fills')} fills`,
    `${percent(figures.win_rate)} of its sales with a profit`,
  ].join(', ');

/** An indented table of these fields of each row; empty when there are no rows. */
function indented(keys: readonly string[], rows: readonly JsonObject[]): string[] {
  if (rows.length === 0) return [];
  const head = keys.map((key) => key.replaceAll('_', ' '));
  return columns(
    head,
    rows.map((row) => keys.map((key) => textAt(row, key))),
  ).map((row) => `    ${row}`);
}
