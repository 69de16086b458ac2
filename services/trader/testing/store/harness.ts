import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import type { Concern, Strategy } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import {
  type ControlDecision,
  type ControlResponse,
  controlFingerprint,
  readControlDecision,
} from '@hermes-fleet/protocol/control';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { type ManualClock, manualClock, recordingLog, START, tempDir } from '@hermes-fleet/protocol/testing';
import type {
  AttemptRecord,
  ControlStore,
  DecisionKey,
  OpenApply,
  StoredFacts,
  WrittenAttempt,
} from '../../src/control/control-store.ts';
import type { Policy } from '../../src/control/facts.ts';
import { judge } from '../../src/control/judge.ts';
import { openControlStore } from '../../src/store/sqlite-store.ts';

/** A signal that no test aborts. */
export const never = new AbortController().signal;

export const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';
export const TREND = '0c555fee-e4c8-4543-ae70-c132517017e1';
export const SHIELD = '6f3b2a1e-8d47-4c59-9b0a-2e7d5c1f4a83';

export const strategy = (o: Partial<Strategy> = {}): Strategy => ({
  id: GRID,
  name: 'grid',
  kind: 'grid_trader',
  accountId: 'qndd8o9ppop6',
  marketSymbol: 'xrpusd',
  params: { levels: 5 },
  status: 'enabled',
  ...o,
});

export const STRATEGIES: readonly Strategy[] = [
  strategy(),
  strategy({ id: TREND, name: 'trend', kind: 'trend_follower' }),
  strategy({ id: SHIELD, name: 'shield', kind: 'exposure_protector' }),
];

export const CONCERN: Omit<Concern, 'rev'> = {
  id: 'qndd8o9ppop6:xrpusd',
  accountId: 'qndd8o9ppop6',
  marketSymbol: 'xrpusd',
  activeStrategyId: GRID,
  runState: 'running',
  riskMode: 'normal',
};

/** A second concern with its own strategy. */
export const OTHER: Omit<Concern, 'rev'> = {
  id: 'qndd8o9ppop6:btcusd',
  accountId: 'qndd8o9ppop6',
  marketSymbol: 'btcusd',
  activeStrategyId: null,
  runState: 'paused',
  riskMode: 'cautious',
};
export const OTHERS_GRID = strategy({ id: 'btc-grid', marketSymbol: 'btcusd' });

export const SEED = [
  [...STRATEGIES, OTHERS_GRID],
  [CONCERN, OTHER],
] as const;

export interface TestStore {
  readonly store: ControlStore;
  readonly file: string;
  readonly clock: ManualClock;
  readonly log: ReturnType<typeof recordingLog>;
  /** Closes the store and opens the same file again. */
  reopen(): Promise<ControlStore>;
  /** Another connection to the same file, without the triggers of audit and books. */
  tamper(change: (db: DatabaseSync) => void): void;
}

export function openTestStore(t: TestContext): TestStore {
  const dir = tempDir(t, { closeFirst: () => store.close() });
  const file = join(dir, 'state', 'control.db');
  const clock = manualClock();
  const log = recordingLog();
  const open = (): ControlStore => openControlStore({ file, service: 'trader', clock, ids: systemIds, log });
  let store = open();
  return {
    store,
    file,
    clock,
    log,
    reopen: async () => {
      await store.close();
      store = open();
      return store;
    },
    tamper: (change) => {
      using db = new DatabaseSync(file, { timeout: 2000 });
      db.exec('DROP TRIGGER IF EXISTS audit_is_a_chain; DROP TRIGGER IF EXISTS audit_is_final');
      db.exec('DROP TRIGGER IF EXISTS audit_is_kept; DROP TRIGGER IF EXISTS books_are_in_order');
      db.exec('DROP TRIGGER IF EXISTS books_are_final; DROP TRIGGER IF EXISTS books_are_kept');
      change(db);
    },
  };
}

export async function openSeeded(t: TestContext): Promise<TestStore> {
  const test = openTestStore(t);
  await test.store.seed(...SEED);
  return test;
}

let counter = 0;

export function payload(o: JsonObject = {}): JsonObject {
  counter += 1;
  return {
    decision_id: `dec-${counter}`,
    concern_id: CONCERN.id,
    account_id: 'qndd8o9ppop6',
    market_symbol: 'xrpusd',
    action: 'pause',
    reason: 'news',
    confidence: 0.8,
    ...o,
  };
}

export const switchTo = (target: string, o: JsonObject = {}): JsonObject =>
  payload({ action: 'switch', target_strategy_id: target, ...o });

export const attemptOf = (text: string | null, o: Partial<AttemptRecord> = {}): AttemptRecord => ({
  transport: 'jsonrpc',
  caller: 'operator',
  text,
  receivedAt: START - 5,
  ...o,
});

const POLICY: Policy = { maxAgeMs: 300_000, futureSlackMs: 60_000, minConfidence: 0, strictDegraded: false };

export function decisionIn(text: string): ControlDecision {
  const reading = readControlDecision(text);
  if ('decision' in reading) return reading.decision;
  throw new Error(`not a decision: ${JSON.stringify(reading.fields)}`);
}

export function wantedBy(text: string): DecisionKey {
  const decision = decisionIn(text);
  const { decisionId, concernId, targetStrategyId } = decision;
  const fingerprint = controlFingerprint({ ...decision, dryRun: false });
  return { decisionId, concernId, targetStrategyId, fingerprint };
}

/** Judges by the trader's decision table. */
export const judging =
  (text: string) =>
  (facts: StoredFacts): ReturnType<typeof judge> =>
    judge(decisionIn(text), wantedBy(text).fingerprint, {
      ...facts,
      now: START,
      degraded: false,
      policy: POLICY,
    });

export async function decided(
  store: ControlStore,
  value: JsonObject,
  o: Partial<AttemptRecord> = {},
): Promise<WrittenAttempt> {
  const text = o.text ?? JSON.stringify(value);
  const written = await store.decide(attemptOf(text, o), wantedBy(text), judging(text));
  if (written === 'busy') throw new Error('the table is never busy');
  return written;
}

/** The open apply of a written decision. */
export const applyOf = ({ verdict: { response }, auditSeq }: WrittenAttempt): OpenApply => ({
  decisionId: response.decisionId ?? '',
  concernId: response.concernId ?? '',
  auditSeq,
  response,
});

export const failedFrom = (response: ControlResponse): ControlResponse => ({
  ...response,
  ok: false,
  status: 'failed',
  toStrategyId: response.fromStrategyId,
  appliedAt: null,
  errors: [{ code: 'activation_failed', message: 'the engine did not start' }],
  result: { modeChange: 'restored', reconciled: true },
});

/** The answer to a payload that is not a decision. */
export const refusedFrom = (response: ControlResponse): ControlResponse => ({
  ...response,
  ok: false,
  status: 'rejected',
  appliedAt: null,
  validation: { ...response.validation, schemaValid: false },
  errors: [{ code: 'invalid_payload', message: 'is not valid' }],
});

/** The kinds of the audit records. */
export const kindsOf = (store: ControlStore): string[] =>
  store
    .audit(0, 1000)
    .map(({ record }) => `${record['kind']} ${record['status'] ?? record['outcome'] ?? ''}`.trim());
