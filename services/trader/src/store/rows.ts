import type { Concern, Strategy } from '@hermes-fleet/market';
import { camelize, type JsonObject } from '@hermes-fleet/protocol';
import { ControlResponseWire, type RiskMode } from '@hermes-fleet/protocol/control';
import { integer, json, oneOf, type Row, text } from '@hermes-fleet/store';
import type { DecisionRecord, OpenApply } from '../control/control-store.ts';

const RUN_STATES: Readonly<Record<Concern['runState'], true>> = { running: true, paused: true };
const RISK_MODES: Readonly<Record<RiskMode, true>> = {
  normal: true,
  cautious: true,
  reduce_only: true,
  halted: true,
};
const STATUSES: Readonly<Record<Strategy['status'], true>> = { enabled: true, disabled: true, faulted: true };

/** Text that JSON writes without an escape: a fast path for almost all names. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Escapes a name for a column as in JSON. SQLite stores UTF-8, in which ids with different lone surrogates are equal. */
export const escapeName = (name: string): string =>
  PLAIN.test(name) ? name : JSON.stringify(name).slice(1, -1);

/** Reads an escaped name. Throws as `text` does. */
export function readName(row: Row, column: string): string {
  const value = text(row, column);
  if (!value.includes('\\')) return value;
  const { name } = json({ [column]: `{"name":"${value}"}` }, column);
  return typeof name === 'string' ? name : text({}, column);
}

export function concernOf(row: Row): Concern {
  return {
    id: readName(row, 'id'),
    accountId: readName(row, 'account_id'),
    marketSymbol: readName(row, 'market_symbol'),
    activeStrategyId: row.active_strategy_id === null ? null : readName(row, 'active_strategy_id'),
    runState: oneOf(row, 'run_state', RUN_STATES),
    riskMode: oneOf(row, 'risk_mode', RISK_MODES),
    rev: integer(row, 'rev'),
  };
}

export function strategyOf(row: Row): Strategy {
  return {
    id: readName(row, 'id'),
    name: readName(row, 'name'),
    kind: readName(row, 'kind'),
    accountId: readName(row, 'account_id'),
    marketSymbol: readName(row, 'market_symbol'),
    params: json(row, 'params'),
    status: oneOf(row, 'status', STATUSES),
  };
}

/** The first judgment of a decision_id; `concernId` is '' if the concern does not exist for the caller. */
export interface Decision extends DecisionRecord, OpenApply {
  readonly fingerprint: string;
  /** Applied, but without a recorded outcome. */
  readonly open: boolean;
}

export function decisionOf(row: Row): Decision {
  return {
    decisionId: readName(row, 'decision_id'),
    caller: readName(row, 'caller'),
    concernId: readName(row, 'concern_id'),
    fingerprint: text(row, 'fingerprint'),
    response: camelize(ControlResponseWire, ControlResponseWire.parse(json(row, 'response'))),
    decidedAt: integer(row, 'decided_at'),
    auditSeq: integer(row, 'attempt_seq'),
    open: integer(row, 'open') === 1,
  };
}

/** A strategy in a `seed` record. */
export const strategyRecord = ({ accountId, marketSymbol, params, ...rest }: Strategy): JsonObject => ({
  ...rest,
  account_id: accountId,
  market_symbol: marketSymbol,
  params,
});

/** A concern's state in the `change` of a record. */
export const changeRecord = ({ id, rev, activeStrategyId, runState, riskMode }: Concern): JsonObject => ({
  active_strategy_id: activeStrategyId,
  concern_id: id,
  rev,
  risk_mode: riskMode,
  run_state: runState,
});
