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

// Runs the backtest that the one argument asks for, and prints the report as JSON on one line, or an object with `error`
// and exit code 2 where the request or one of its files is wrong. Needs no running trader, and writes nothing but the file of orders.

try {
  process.stdout.write(`${JSON.stringify(backtest(process.argv[2] ?? '{}'))}\n`);
} catch (thrown) {
  if (!(thrown instanceof FleetError && ['INVALID_PARAMS', 'CONFIG_INVALID'].includes(thrown.code)))
    throw thrown;
  const { code, message, fields } = thrown;
  process.stdout.write(`${JSON.stringify({ error: { code, message, fields } })}\n`);
  process.exitCode = 2;
}

function backtest(json: string) {
  const request = readRequest(json);
  const scenario = readScenario(request, process.env);
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
