import type { Read } from '@hermes-fleet/net/api';
import type { TRADER_RPC } from '@hermes-fleet/protocol/api';
import { columns, line, shown } from '../command-line/output.ts';

/** A share as a percentage; a dash for one that is not defined. */
export const percent = (value: number | null): string =>
  value === null ? '-' : `${(value * 100).toFixed(2)} %`;

/** A ratio with two places; a dash for one that is not defined. */
export const ratio = (value: number | null): string => value?.toFixed(2) ?? '-';

export const indented = (rows: readonly string[]): string[] => rows.map((row) => `    ${row}`);

type Found = Read<typeof TRADER_RPC.getStrategy>;

/** Lines for the answer to `get_strategy`. */
export function renderStrategy(found: Found): string[] {
  const { strategy, control, position, equity, orders, execution, last_decisions: decisions } = found;
  const { open } = orders;
  return [
    `${strategy.name} (${strategy.kind}), ${strategy.status}: ${strategy.id}`,
    line('concern', control.concern_id),
    line('active', shown(control.active_strategy_id)),
    line('control', `${control.run_state}, risk mode ${control.risk_mode}`),
    line('position', `${shown(position?.quantity)} at ${shown(position?.average_price)}`),
    line('equity', `${shown(equity?.total)}, of which cash ${shown(equity?.cash)}`),
    ...performance(found),
    line('execution', [shown(execution?.state), ...(execution?.reasons ?? [])].join('; ')),
    line('orders', open.length === 0 ? 'none open' : `${open.length} open`),
    ...table(
      ['side', 'kind', 'quantity', 'limit price', 'purpose'],
      open.map((each) => [each.side, each.kind, each.quantity, each.limit_price, each.purpose]),
    ),
    line('decisions', decisions.length === 0 ? 'none yet' : 'newest first'),
    ...table(
      ['decided at', 'action', 'status', 'caller', 'decision id'],
      decisions.map((each) => [each.decided_at, each.action, each.status, each.caller, each.decision_id]),
    ),
  ];
}

/** Nothing for a trader without books, or whose books are not read yet. */
function performance({ performance: found }: Found): string[] {
  if (found === null) return [];
  const { account, strategy: own } = found;
  return [
    line(
      'return',
      `${percent(account.return)}, drawdown ${percent(account.drawdown)} now, ${percent(account.max_drawdown)} at most`,
    ),
    line(
      'own',
      own === null
        ? 'it was never active'
        : `${percent(own.return)}, drawdown ${percent(own.max_drawdown)} at most, ${own.realized_profit} realized, ${own.fees} fees, ${own.fills} fills, ${percent(own.win_rate)} of its sales with a profit`,
    ),
  ];
}

const table = (...[head, rows]: Parameters<typeof columns>): string[] =>
  rows.length === 0 ? [] : indented(columns(head, rows));
