import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock as clock, systemIds as ids } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { enableWal } from '../../../libs/core/store/src/database.ts';
import type { Concern, Strategy } from '../../../libs/trader/market/src/terms/concern.ts';
import type { Runtime } from '../../../libs/trader/market/src/terms/runtime-port.ts';
import { createDecisionService } from '../../../services/trader/src/control/create-decision-service.ts';
import { NO_MARKS } from '../../../services/trader/src/control/unwritten-restrictions.ts';
import { openControlStore } from '../../../services/trader/src/store/sqlite-store.ts';
import { removeDatabase } from './ledger.ts';
import { type Run, runOf, runSync } from './run.ts';

/** A runtime that costs no time, so that the result measures the decision service and the disk. */
const RUNTIME: Runtime = {
  preflight: () => undefined,
  reconcile: async () => ({ canceledOrders: 0 }),
  health: () => ({ degraded: false, reasons: [] }),
  view: () => undefined,
  setHold: () => undefined,
  resetAccount: async () => undefined,
  start: () => undefined,
  close: async () => undefined,
};
const CALLER = { name: 'bench', scopes: new Set(['trader:decide']) };

const strategy = (market: number): Strategy => ({
  id: `s${market}`,
  name: 's',
  kind: 'none',
  accountId: 'acc',
  marketSymbol: `m${market}`,
  params: {},
  status: 'enabled',
});
const concern = (market: number): Omit<Concern, 'rev'> => ({
  id: `acc:m${market}`,
  accountId: 'acc',
  marketSymbol: `m${market}`,
  activeStrategyId: `s${market}`,
  runState: 'running',
  riskMode: 'normal',
});

/** Applied decisions, each durable before its answer; `parallel` callers decide at once, each about its own concern. */
export async function decisionRun(dir: string, parallel: number, forMs: number): Promise<Run> {
  const file = join(dir, `control-${randomUUID()}.db`);
  const store = openControlStore({ file, service: 'trader', clock, ids, log: silentLog });
  const markets = Array.from({ length: parallel }, (_, market) => market);
  await store.seed(markets.map(strategy), markets.map(concern));
  const service = createDecisionService({
    store,
    runtime: RUNTIME,
    marks: NO_MARKS,
    clock,
    log: silentLog,
    policy: { maxAgeMs: 300_000, futureSlackMs: 60_000, minConfidence: 0, strictDegraded: false },
    access: { accountsOf: () => '*' },
    limits: { perSecond: 1_000_000, burst: 1_000_000, keptForPause: 0 },
    metrics: { add() {} },
  });
  const run = await runOf(parallel, forMs, async (market, at) => {
    const { response } = await service.decide({
      transport: 'jsonrpc',
      caller: CALLER,
      text: payload(market, at % 2 === 0 ? 'pause' : 'resume'),
    });
    if (response.status !== 'applied') throw new Error(JSON.stringify(response.errors));
  });
  await store.close();
  removeDatabase(file);
  return run;
}

const payload = (market: number, action: string): string =>
  JSON.stringify({
    decision_id: randomUUID(),
    concern_id: `acc:m${market}`,
    account_id: 'acc',
    market_symbol: `m${market}`,
    action,
    reason: 'a benchmark',
    confidence: 0.8,
    expected_active_strategy_id: `s${market}`,
  });

/** Decisions that SQLite alone writes: the rows of one decision in one durable transaction. */
export async function rawDecisionRun(dir: string, forMs: number): Promise<Run> {
  const file = join(dir, `control-${randomUUID()}.db`);
  const store = openControlStore({ file, service: 'trader', clock, ids, log: silentLog });
  await store.seed([strategy(0)], [concern(0)]);
  const service = createDecisionService({
    store,
    runtime: RUNTIME,
    marks: NO_MARKS,
    clock,
    log: silentLog,
    policy: { maxAgeMs: 300_000, futureSlackMs: 60_000, minConfidence: 0, strictDegraded: false },
    access: { accountsOf: () => '*' },
    limits: { perSecond: 1, burst: 1, keptForPause: 0 },
    metrics: { add() {} },
  });
  await service.decide({ transport: 'jsonrpc', caller: CALLER, text: payload(0, 'pause') });
  await store.close();
  const run = await replayRows(file, forMs);
  removeDatabase(file);
  return run;
}

/** Repeats the rows of the only decision in the file under new keys. */
async function replayRows(file: string, forMs: number): Promise<Run> {
  const db = new DatabaseSync(file);
  enableWal(db, file);
  // SQLite's default; a store may leave checkpoints to another thread, which SQLite alone does not have.
  db.exec('PRAGMA wal_autocheckpoint = 1000');
  const attempt = db.prepare("SELECT * FROM audit WHERE json_extract(record, '$.kind') = 'attempt'").get();
  const outcome = db.prepare("SELECT * FROM audit WHERE json_extract(record, '$.kind') = 'outcome'").get();
  const decided = db.prepare('SELECT * FROM decisions').get();
  const event = db.prepare('SELECT * FROM outbox').get();
  if (!attempt || !outcome || !decided || !event)
    throw new Error('the control database lacks the decision of the bench');
  const audit = db.prepare('INSERT INTO audit (seq, record, hash) VALUES (?, ?, ?)');
  const decision = db.prepare('INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, 1)');
  const { caller, concern_id: concern, fingerprint, response, decided_at: decidedAt } = decided;
  const update = db.prepare('UPDATE concerns SET run_state = ?, rev = rev + 1');
  const answered = db.prepare('UPDATE decisions SET response = ?, open = 0 WHERE decision_id = ?');
  const outbox = db.prepare('INSERT INTO outbox (at, subject, event) VALUES (?, ?, ?)');
  let seq = Number(db.prepare('SELECT max(seq) AS seq FROM audit').get()?.seq);
  const run = await runSync(forMs, (at) => {
    db.exec('BEGIN IMMEDIATE');
    audit.run(++seq, attempt.record ?? null, attempt.hash ?? null);
    const id = randomUUID();
    decision.run(
      id,
      caller ?? null,
      concern ?? null,
      fingerprint ?? null,
      response ?? null,
      decidedAt ?? null,
      seq,
    );
    update.run(at % 2 === 0 ? 'paused' : 'running');
    outbox.run(event.at ?? null, event.subject ?? null, event.event ?? null);
    audit.run(++seq, outcome.record ?? null, outcome.hash ?? null);
    answered.run(response ?? null, id);
    db.exec('COMMIT');
  });
  db.close();
  return run;
}
