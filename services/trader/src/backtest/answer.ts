import { accessSync, constants, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { openBars } from './bars.ts';
import { ORDER_HEAD, orderRow } from './order-rows.ts';
import { replay } from './replay.ts';
import { reportOf } from './report.ts';
import { readRequest, wrongField } from './request.ts';
import { readScenario } from './scenario.ts';
import { readScript } from './script.ts';

/**
 * Runs the backtest that a request asks for, and returns its exit code and the report as JSON; for a request or a file that
 * is wrong, exit code 2 and an object with `error`. Needs no running trader, and writes nothing but the file of orders.
 */
export function answer(
  request: string,
  env: NodeJS.ProcessEnv,
): { readonly code: number; readonly text: string } {
  try {
    return { code: 0, text: JSON.stringify(backtest(request, env)) };
  } catch (thrown) {
    if (!(thrown instanceof FleetError && ['INVALID_PARAMS', 'CONFIG_INVALID'].includes(thrown.code)))
      throw thrown;
    const { code, message, fields } = thrown;
    return { code: 2, text: JSON.stringify({ error: { code, message, fields } }) };
  }
}

function backtest(json: string, env: NodeJS.ProcessEnv) {
  const request = readRequest(json);
  const scenario = readScenario(request, env);
  const bars = openBars(request, scenario.feed);
  const { id, accountId, marketSymbol } = scenario.concern;
  const defaults = { concern_id: id, account_id: accountId, market_symbol: marketSymbol };
  const script = request.decisions === undefined ? [] : readScript(request.decisions, bars, defaults);
  if (request.orders !== undefined) assertWritable(request.orders);
  const rows = [ORDER_HEAD];
  const onOrder =
    request.orders === undefined
      ? undefined
      : (order: Parameters<typeof orderRow>[0]) => void rows.push(orderRow(order));
  const runs = scenario.runs.map((strategy) => replay({ scenario, strategy, bars, script, onOrder }));
  if (request.orders !== undefined) writeOrders(request.orders, rows);
  return reportOf(scenario, bars, runs);
}

/** Found before a long run, not after it. */
function assertWritable(file: string): void {
  orExplain(file, () => accessSync(dirname(file), constants.W_OK));
}

function writeOrders(file: string, rows: readonly string[]): void {
  orExplain(file, () => writeFileSync(file, `${rows.join('\n')}\n`));
}

function orExplain(file: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw wrongField('orders', `${file} cannot be written (${code})`);
  }
}
