import type { Concern, Strategy } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { Queries, Row } from '@hermes-fleet/store';
import { concernOf, type Decision, decisionOf, escapeName, readName, strategyOf } from './rows.ts';

const maybe = <T>(row: Row | undefined, read: (row: Row) => T): T | undefined =>
  row === undefined ? undefined : read(row);

export const concernIn = (db: Queries, id: string): Concern | undefined =>
  maybe(db.get('SELECT * FROM concerns WHERE id = ? AND listed = 1', escapeName(id)), concernOf);

export const concernsIn = (db: Queries): Concern[] =>
  db.all('SELECT * FROM concerns WHERE listed = 1 ORDER BY id').map(concernOf);

/** Concerns that trader.yaml no longer lists. */
export const unlistedIn = (db: Queries): Concern[] =>
  db.all('SELECT * FROM concerns WHERE listed = 0 ORDER BY id').map(concernOf);

export const strategyIn = (db: Queries, id: string): Strategy | undefined =>
  maybe(db.get('SELECT * FROM strategies WHERE id = ?', escapeName(id)), strategyOf);

export const strategiesIn = (db: Queries): Strategy[] =>
  db.all('SELECT * FROM strategies ORDER BY id').map(strategyOf);

export const decisionIn = (db: Queries, id: string): Decision | undefined =>
  maybe(db.get('SELECT * FROM decisions WHERE decision_id = ?', escapeName(id)), decisionOf);

export const decisionsIn = (db: Queries, concernId: string, limit: number): Decision[] =>
  db
    .all(
      'SELECT * FROM decisions WHERE concern_id = ? ORDER BY attempt_seq DESC LIMIT ?',
      escapeName(concernId),
      limit,
    )
    .map(decisionOf);

/** The id of the applied decision with the highest revision. */
export const decisionInForce = (db: Queries, concernId: string): string | undefined =>
  maybe(
    db.get(
      `SELECT decision_id FROM decisions WHERE concern_id = ? AND rev IS NOT NULL ORDER BY rev DESC LIMIT 1`,
      escapeName(concernId),
    ),
    (row) => readName(row, 'decision_id'),
  );

/** Implements `ControlStore.hasDecided`. */
export function hasDecided(
  db: Queries,
  caller: string,
  concernId: string,
  { since, until }: { readonly since: string | null; readonly until: string },
): boolean {
  const rev = '(SELECT rev FROM decisions WHERE decision_id = ?)';
  const row = db.get(
    `SELECT 1 FROM decisions WHERE concern_id = ? AND rev IS NOT NULL AND caller = ?
       AND rev >= ifnull(${rev}, 0) AND rev < ${rev} LIMIT 1`,
    ...[concernId, caller, since ?? '', until].map(escapeName),
  );
  return row !== undefined;
}

export const openDecisionsIn = (db: Queries): Decision[] =>
  db.all('SELECT * FROM decisions WHERE open = 1 ORDER BY attempt_seq').map(decisionOf);

/** Inserts or replaces a concern. `stored` is the listed concern in the table, if it is known. */
export function putConcern(
  db: Queries,
  concern: Concern,
  listed: boolean,
  stored: Concern | undefined,
): void {
  const { id, accountId, marketSymbol, activeStrategyId, runState, riskMode, rev } = concern;
  if (listed && stored?.activeStrategyId === activeStrategyId) {
    // Without the foreign key, which SQLite would look up.
    db.run(
      'UPDATE concerns SET run_state = ?, risk_mode = ?, rev = ? WHERE id = ?',
      runState,
      riskMode,
      rev,
      escapeName(id),
    );
    return;
  }
  db.run(
    `INSERT INTO concerns VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET active_strategy_id = excluded.active_strategy_id, run_state = excluded.run_state,
       risk_mode = excluded.risk_mode, rev = excluded.rev, listed = excluded.listed`,
    escapeName(id),
    escapeName(accountId),
    escapeName(marketSymbol),
    activeStrategyId === null ? null : escapeName(activeStrategyId),
    runState,
    riskMode,
    rev,
    listed ? 1 : 0,
  );
}

export function putStrategy(db: Queries, strategy: Strategy): void {
  const { id, name, kind, accountId, marketSymbol, params, status } = strategy;
  db.run(
    `INSERT INTO strategies VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, kind = excluded.kind, account_id = excluded.account_id,
       market_symbol = excluded.market_symbol, params = excluded.params, status = excluded.status`,
    ...[id, name, kind, accountId, marketSymbol].map(escapeName),
    JSON.stringify(params),
    status,
  );
}

/** Inserts or replaces a decision; `answer` is the JSON of the response. */
export function putDecision(
  db: Queries,
  decision: Omit<Decision, 'response'> & {
    readonly answer: string;
    /** The revision of the concern that it led to. */
    readonly rev?: number | undefined;
  },
): void {
  const { decisionId, caller, concernId, fingerprint, answer, decidedAt, auditSeq, open, rev } = decision;
  db.run(
    `INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (decision_id) DO UPDATE SET caller = excluded.caller, concern_id = excluded.concern_id,
       fingerprint = excluded.fingerprint, response = excluded.response, decided_at = excluded.decided_at,
       attempt_seq = excluded.attempt_seq, open = excluded.open, rev = excluded.rev`,
    escapeName(decisionId),
    escapeName(caller),
    escapeName(concernId),
    fingerprint,
    answer,
    decidedAt,
    auditSeq,
    open ? 1 : 0,
    rev ?? null,
  );
}

/** Sets the final result of an open decision. Returns false and changes nothing if that attempt is not open. */
export function closeDecision(
  db: Queries,
  decisionId: string,
  auditSeq: number,
  result: JsonObject,
): boolean {
  const { changes } = db.run(
    `UPDATE decisions SET response = json_replace(response, '$.result', json(?)), open = 0
     WHERE decision_id = ? AND attempt_seq = ? AND open = 1`,
    JSON.stringify(result),
    escapeName(decisionId),
    auditSeq,
  );
  return changes === 1;
}
