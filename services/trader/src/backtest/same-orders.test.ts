import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  createFeed,
  createRuntime,
  type OrderView,
  type SimulatedOrder,
  writeFigures,
} from '@hermes-fleet/market';
import { countingIds } from '@hermes-fleet/market/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { encodeControlResponse } from '@hermes-fleet/protocol/control';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';
import { type BacktestFiles, backtestFiles } from '../../testing/backtest/files.ts';
import { GRID, SHIELD, TREND } from '../../testing/store/harness.ts';
import { createAnalysis, spacingOf } from '../books/analysis.ts';
import { TraderConfigSchema } from '../config/schema.ts';
import { runtimeConcerns, settingsOf } from '../config/settings.ts';
import { createDecisionService } from '../control/create-decision-service.ts';
import { NO_MARKS } from '../control/unwritten-restrictions.ts';
import { openControlStore } from '../store/sqlite-store.ts';
import { openBars } from './bars.ts';
import { replay } from './replay.ts';
import { readScenario } from './scenario.ts';
import { readScript } from './script.ts';

const CONCERN = 'qndd8o9ppop6:xrpusd';
const base = {
  concern_id: CONCERN,
  account_id: 'qndd8o9ppop6',
  market_symbol: 'xrpusd',
  reason: 'the test says so',
  confidence: 0.9,
};
const decision = (bar: number, id: string, o: JsonObject): { bar: number; decision: JsonObject } => ({
  bar,
  decision: { ...base, decision_id: id, ...o },
});

const PAUSE = { action: 'pause', expected_active_strategy_id: TREND };
/** Every action, with answers of every kind. */
const SCRIPT = [
  decision(0, 'd0', { action: 'set_risk_mode', risk_mode: 'cautious' }),
  decision(30, 'd1', { action: 'set_risk_mode', risk_mode: 'normal' }),
  decision(60, 'd2', { action: 'switch', target_strategy_id: TREND, expected_active_strategy_id: SHIELD }),
  decision(60, 'd3', { action: 'switch', target_strategy_id: TREND, expected_active_strategy_id: GRID }),
  decision(140, 'd4', PAUSE),
  decision(141, 'd4', PAUSE),
  decision(150, 'd5', { action: 'resume' }),
  decision(151, 'd6', { action: 'pause', dry_run: true }),
  decision(180, 'd7', { action: 'switch', target_strategy_id: SHIELD, risk_mode: 'normal' }),
  decision(200, 'd8', { action: 'switch', target_strategy_id: 'nobody' }),
  decision(210, 'd9', { action: 'switch', target_strategy_id: GRID }),
  decision(260, 'd10', { action: 'set_risk_mode', risk_mode: 'reduce_only' }),
  decision(290, 'd11', { action: 'set_risk_mode', risk_mode: 'halted' }),
];

/** The same bars and decisions in a trader without transports: feed, follower, control store and decision service. */
async function paperRun(t: TestContext, files: BacktestFiles) {
  const { value: config } = loadYamlConfig({
    file: files.config,
    schema: TraderConfigSchema,
    env: createSecretEnv({}),
  });
  const settings = settingsOf(config);
  const clock = manualClock();
  const log = recordingLog();
  const file = join(
    tempDir(t, {
      closeFirst: async () => {
        await runtime.close();
        void decisions.close();
        await store.close();
      },
    }),
    'control.db',
  );
  const store = openControlStore({ file, service: 'trader', clock: systemClock, ids: systemIds, log });
  await store.seed(settings.strategies, settings.concerns);
  let changed = Promise.withResolvers<void>();
  const [concern] = config.trader.concerns;
  assert.ok(concern);
  const feed = createFeed(concern.feed, clock, files.dir);
  const runtime = createRuntime({
    store,
    clock,
    log,
    ids: countingIds(),
    concerns: runtimeConcerns(config, new Map([[CONCERN, feed]])),
    watcher: {
      order: () => undefined,
      changed: () => {
        changed.resolve();
        changed = Promise.withResolvers();
      },
    },
  });
  const decisions = createDecisionService({
    store,
    runtime,
    marks: NO_MARKS,
    clock: systemClock,
    log,
    policy: settings.policy,
    limits: settings.limits,
    access: settings.access,
    metrics: { add: () => undefined },
  });
  await decisions.recover();
  const orders = new Map<string, OrderView>();
  const answers: JsonObject[] = [];
  const view = () => runtime.view(CONCERN) ?? assert.fail('there is no view');
  const collect = (): void => {
    for (const order of view().recentOrders.toReversed()) orders.set(order.id, order);
  };
  const decideAfter = async (bars: number): Promise<void> => {
    for (const each of SCRIPT.filter(({ bar }) => bar === bars)) {
      const caller = { name: 'operator', scopes: new Set(['trader:decide'] as const) };
      const text = JSON.stringify(each.decision);
      const { response } = await decisions.decide({ transport: 'jsonrpc', caller, text });
      answers.push(encodeControlResponse(response));
      collect();
    }
  };
  await decideAfter(0);
  runtime.start();
  for (const [n, { at }] of files.bars.entries()) {
    while (view().lastBar?.at !== new Date(at).toISOString()) {
      const change = changed.promise;
      await clock.asleep(n === 0 ? 0 : 1);
      clock.advance(1_000);
      await change;
    }
    collect();
    await decideAfter(n + 1);
  }
  const { ended, open, equity } = {
    ended: [...orders.values()],
    open: view().openOrders,
    equity: view().equity,
  };
  await runtime.close();
  const analysis = createAnalysis(spacingOf(feed));
  for (const entry of store.books.after(CONCERN, 0, 100_000)) analysis.add(entry);
  return { ended, open, equity, answers, figures: writeFigures(analysis.total()) };
}

const untimed = ({ applied_at: _, ...answer }: JsonObject): JsonObject => answer;

test('a backtest and a paper run over the same bars and decisions give the same orders, answers and figures', async (t) => {
  const files = backtestFiles(t);
  const paper = await paperRun(t, files);
  const request = files.request({ decisions: files.script(...SCRIPT) });
  const scenario = readScenario(request, {});
  const bars = openBars(request, scenario.feed);
  const orders: SimulatedOrder[] = [];
  const [strategy] = scenario.runs;
  assert.ok(strategy && request.decisions);
  const { result, answers } = replay({
    scenario,
    strategy,
    bars,
    script: readScript(request.decisions, bars, {
      concern_id: CONCERN,
      account_id: 'qndd8o9ppop6',
      market_symbol: 'xrpusd',
    }),
    onOrder: (order) => void orders.push(order),
  });
  const ended = orders.map(({ order }) => order).filter(({ state }) => state !== 'open');
  assert.ok(ended.filter(({ state }) => state === 'filled').length > 60, 'too few fills to show anything');
  assert.deepEqual(new Set(ended.map(({ strategyId }) => strategyId)), new Set([GRID, TREND, SHIELD]));
  assert.deepEqual(ended, paper.ended);
  assert.deepEqual(result.view.openOrders, paper.open);
  assert.deepEqual(result.view.equity, paper.equity);
  assert.deepEqual(paper.figures, writeFigures(result.figures));
  assert.deepEqual(
    answers.map(({ response }) => untimed(encodeControlResponse(response))),
    paper.answers.map(untimed),
  );
  const statuses = new Set(answers.map(({ response }) => response.status));
  assert.deepEqual(statuses, new Set(['applied', 'rejected', 'noop']));
});
