import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { backtestFiles } from '../../testing/backtest/files.ts';
import { GRID, TREND } from '../../testing/store/harness.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

/** Runs the entry point in an environment without keys, and returns what it prints. */
function run(request: object): {
  readonly code: number | null;
  readonly text: string;
  readonly report: JsonObject;
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, JSON.stringify(request)], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  assert.equal(stderr, '');
  const report: unknown = JSON.parse(stdout);
  assert.ok(isJsonObject(report));
  return { code: status, text: stdout, report };
}

test('the same request gives the same bytes, and orders as CSV', (t) => {
  const files = backtestFiles(t);
  const orders = join(files.dir, 'orders.csv');
  const decisions = files.script({
    bar: 100,
    decision: { action: 'switch', target_strategy_id: TREND, reason: 'r', confidence: 1 },
  });
  const request = files.request({ decisions, orders });
  const first = run(request);
  const written = readFileSync(orders, 'utf8');
  const second = run(request);
  assert.equal(first.code, 0);
  assert.equal(second.text, first.text);
  assert.equal(readFileSync(orders, 'utf8'), written);
  const found: unknown = Array.isArray(first.report.runs) ? first.report.runs[0] : undefined;
  assert.ok(isJsonObject(found) && isJsonObject(found.orders) && isJsonObject(found.end));
  const [head, ...rows] = written.trimEnd().split('\n');
  assert.match(head ?? '', /^id,strategy_id,decision_id,side,/);
  const { filled, canceled, rejected, open } = found.orders;
  assert.equal(rows.length, Number(filled) + Number(canceled) + Number(rejected) + Number(open));
  assert.ok(
    rows.some((row) => row.startsWith(`order-1,${GRID},,sell,limit,exit,`)),
    rows[0],
  );
  assert.ok(rows.some((row) => row.includes(`,${TREND},line-1,`)));
  assert.equal(found.end.active_strategy_id, TREND);
  assert.ok(Array.isArray(found.equity_curve) && found.equity_curve.length === 300);
});

test('a wrong request ends with exit code 2, and names what is wrong', (t) => {
  const { code, report } = run({ ...backtestFiles(t).request(), synthetic: { bars: 0 } });
  assert.equal(code, 2);
  assert.match(JSON.stringify(report.error), /"path":"synthetic\.bars"/);
});
