import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock as clock, systemIds as ids, type Log } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import type { Strategy } from '../../libs/trader/market/src/terms/concern.ts';
import type { Runtime } from '../../libs/trader/market/src/terms/runtime-port.ts';
import type { ControlStore } from '../../services/trader/src/control/control-store.ts';
import { createDecisionService } from '../../services/trader/src/control/create-decision-service.ts';
import { NO_MARKS } from '../../services/trader/src/control/unwritten-restrictions.ts';
import { openControlStore } from '../../services/trader/src/store/sqlite-store.ts';

/**
 * One trader process of the crash test: the real decision service and store, with a runtime that only counts calls,
 * under concurrent decisions of several callers. It kills itself like `kill -9` at the given step. Each answer
 * is written as a line to `acknowledged` before the next decision begins.
 */
const Order = z.object({
  dir: z.string(),
  /** The step boundary to die at, and its occurrence, from 1. */
  step: z.string(),
  time: z.int(),
  /** Number of this process, used in decision ids. */
  life: z.int(),
  decisions: z.int(),
});
const order = Order.parse(JSON.parse(process.argv[2] ?? ''));
const silent: Log = { debug() {}, info() {}, warn() {}, error: (...all) => console.error(...all) };

const MARKETS = ['xrpusd', 'btcusd'] as const;
const STRATEGIES: Strategy[] = MARKETS.flatMap((marketSymbol) =>
  ['a', 'b', 'c'].map((name) => ({
    id: `${marketSymbol}-${name}`,
    name,
    kind: 'none',
    accountId: 'acc',
    marketSymbol,
    params: {},
    status: 'enabled' as const,
  })),
);
const CONCERNS = MARKETS.map((marketSymbol) => ({
  id: `acc:${marketSymbol}`,
  accountId: 'acc',
  marketSymbol,
  activeStrategyId: `${marketSymbol}-a`,
  runState: 'running' as const,
  riskMode: 'normal' as const,
}));

let times = 0;
/** A boundary between two steps of an apply. */
function boundary(step: string): void {
  if (step !== order.step) return;
  times += 1;
  if (times === order.time) process.kill(process.pid, 'SIGKILL');
}

const store = openControlStore({
  file: join(order.dir, 'control.db'),
  service: 'trader',
  clock,
  ids,
  log: silent,
});
const watched: ControlStore = {
  ...store,
  async decide(attempt, wanted, judge) {
    boundary('before the transaction');
    const written = await store.decide(attempt, wanted, (facts) => {
      const judgement = judge(facts);
      boundary('inside the transaction');
      return judgement;
    });
    boundary('after the commit');
    return written;
  },
  async settle(apply, response) {
    boundary('before the outcome');
    await store.settle(apply, response);
    boundary('after the outcome');
  },
  async compensate(apply, before, response) {
    boundary('before the compensation');
    const concern = await store.compensate(apply, before, response);
    boundary('after the compensation');
    return concern;
  },
};

let activations = 0;
const runtime: Runtime = {
  preflight: () => undefined,
  async reconcile() {
    boundary('before the activation');
    await clock.sleep(1);
    activations += 1;
    boundary('after the activation');
    // Some fail, so that kills also hit compensations.
    if (recovered && activations % 7 === 0) throw new Error('the engine refuses');
    return { canceledOrders: 0 };
  },
  health: () => ({ degraded: false, reasons: [] }),
  view: () => undefined,
  setHold: () => undefined,
  resetAccount: async () => undefined,
  start: () => undefined,
  close: async () => undefined,
};
let recovered = false;

/** Keeps the process alive as a listener would: the timer of a deferred write does not. */
const alive = setInterval(() => undefined, 60_000);
await store.seed(STRATEGIES, CONCERNS);
const decisions = createDecisionService({
  store: watched,
  runtime,
  marks: NO_MARKS,
  clock,
  log: silent,
  policy: { maxAgeMs: 300_000, futureSlackMs: 60_000, minConfidence: 0, strictDegraded: false },
  access: { accountsOf: () => '*' },
  limits: { perSecond: 1_000_000, burst: 1_000_000, keptForPause: 0 },
  metrics: { add() {} },
});
await decisions.recover();
recovered = true;

const caller = { name: 'operator', scopes: new Set(['trader:decide']) };
const ACTIONS = ['switch', 'pause', 'resume', 'set_risk_mode'] as const;
const RISKS = ['normal', 'cautious', 'reduce_only', 'halted'] as const;

/** Sends one caller's decisions sequentially, every second one twice. */
async function decideOn(market: (typeof MARKETS)[number], who: number): Promise<void> {
  for (let at = 0; at < order.decisions; at += 1) {
    const action = ACTIONS[(at + who + order.life) % ACTIONS.length] ?? 'pause';
    const decision = {
      decision_id: `${order.life}-${market}-${who}-${at}`,
      concern_id: `acc:${market}`,
      account_id: 'acc',
      market_symbol: market,
      action,
      reason: 'a test',
      confidence: 1,
      ...(action === 'switch' ? { target_strategy_id: `${market}-${'abc'[(at + order.life) % 3]}` } : {}),
      ...(action === 'set_risk_mode' ? { risk_mode: RISKS[(at + who) % RISKS.length] } : {}),
    };
    const text = JSON.stringify(decision);
    for (let copy = 0; copy <= at % 2; copy += 1) {
      const { response } = await decisions.decide({ transport: 'jsonrpc', caller, text });
      boundary('before the answer');
      appendFileSync(
        join(order.dir, 'acknowledged'),
        `${JSON.stringify([decision.decision_id, response.status])}\n`,
      );
    }
  }
}

await Promise.all(MARKETS.flatMap((market) => [0, 1, 2].map((who) => decideOn(market, who))));
await store.close();
clearInterval(alive);
