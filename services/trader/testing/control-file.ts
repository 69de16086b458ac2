import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Concern } from '@hermes-fleet/market';
import {
  type ControlResponse,
  controlFingerprint,
  readControlDecision,
} from '@hermes-fleet/protocol/control';
import { type Log, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { ControlStore } from '../src/control/control-store.ts';
import { createDraft } from '../src/control/response-draft.ts';
import { openControlStore } from '../src/store/sqlite-store.ts';

type After = { after(fn: () => Promise<void> | void): void };

export const CONCERN: Omit<Concern, 'rev'> = {
  id: 'acct:xrpusd',
  accountId: 'acct',
  marketSymbol: 'xrpusd',
  activeStrategyId: null,
  runState: 'running',
  riskMode: 'normal',
};

/** A real control store in a temporary file. */
export interface ControlFile {
  readonly file: string;
  /** Opens the store and closes it after the test. */
  open(): ControlStore;
  /** Tampers with the closed file after dropping its triggers. */
  tamper(sql: string): void;
}

export function controlFile(t: After, log: Log): ControlFile {
  const dir = tempDir(t);
  const file = join(dir, 'control.db');
  return {
    file,
    open() {
      const store = openControlStore({ file, service: 'trader', clock: systemClock, ids: systemIds, log });
      t.after(() => store.close());
      return store;
    },
    tamper(sql) {
      const db = new DatabaseSync(file);
      db.exec(`DROP TRIGGER audit_is_final; DROP TRIGGER audit_is_kept; ${sql}`);
      db.close();
    },
  };
}

const attempt = (text: string) => ({
  transport: 'jsonrpc' as const,
  caller: 'operator',
  text,
  receivedAt: 0,
});

function rejection(decisionId: string, schemaValid: boolean): ControlResponse {
  const draft = createDraft({ decisionId, concernId: CONCERN.id, action: 'pause', dryRun: false });
  draft.validation.schemaValid = schemaValid;
  return draft.answer({
    status: 'rejected',
    result: { modeChange: 'none', reconciled: true },
    before: undefined,
    after: undefined,
    errors: [{ code: 'no_active_strategy', message: 'nothing is active' }],
  });
}

/** Writes attempts to the audit alone. */
export async function refuseSome(store: ControlStore, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await store.refuse(attempt(`refused ${n}`), rejection('refused', false));
}

/** Writes judged decisions, each with an event in the outbox. */
export async function rejectSome(store: ControlStore, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const decisionId = `dec-${store.head().seq}-${n}`;
    const text = JSON.stringify({
      decision_id: decisionId,
      concern_id: CONCERN.id,
      account_id: CONCERN.accountId,
      market_symbol: CONCERN.marketSymbol,
      action: 'pause',
      reason: 'a test',
      confidence: 1,
    });
    const reading = readControlDecision(text);
    if (!('decision' in reading)) throw new Error(`not a decision: ${text}`);
    const fingerprint = controlFingerprint(reading.decision);
    const wanted = { decisionId, concernId: CONCERN.id, targetStrategyId: undefined, fingerprint };
    const verdict = { response: rejection(decisionId, true), isFirst: true };
    await store.decide(attempt(text), wanted, () => verdict);
  }
}

/** What is published as the head of a file, with the state of its one concern. */
export const headOf = (store: Pick<ControlStore, 'id' | 'head'>) => ({
  store: store.id,
  ...store.head(),
  concerns: [{ concern_id: CONCERN.id, strategy_id: null, run_state: 'running', risk_mode: 'normal' }],
});
