import type { Concern } from '@hermes-fleet/market';
import type { CloudEvent } from '@hermes-fleet/protocol';
import type { ControlResponse } from '@hermes-fleet/protocol/control';
import type { AuditHead } from '../control/audit-verifier.ts';

/** An event for the outbox, which assigns its id. */
export interface ControlEvent {
  readonly subject: string;
  readonly event: Omit<CloudEvent, 'id'>;
}

/** A token of a NATS subject; other characters are replaced. */
const word = (name: string): string => name.replace(/[^A-Za-z0-9_-]/gu, '_') || '_';

/** The subject of a concern's events. */
export const subjectOf = (prefix: string, concern: Concern | undefined): string =>
  concern
    ? `${prefix}.${word(concern.accountId)}.${word(concern.marketSymbol)}`
    : `${prefix}.unknown.unknown`;

/**
 * The event of a decision (docs/events.md#control-events). It omits the reason, which is a caller's text. A decision on an
 * unknown concern has a fixed subject, so that callers cannot choose subjects.
 */
export function controlEvent(options: {
  readonly response: ControlResponse;
  /** As it is after the decision. */
  readonly concern: Concern | undefined;
  readonly caller: string;
  readonly traceparent?: string | undefined;
  readonly link: AuditHead;
  /** Ms since the epoch. */
  readonly at: number;
}): ControlEvent {
  const { response, concern, link } = options;
  return {
    subject: subjectOf('fleet.control', concern),
    event: {
      specversion: '1.0',
      source: '/services/trader',
      type: `dev.hermes-fleet.control.${response.status}.v1`,
      subject: response.decisionId || 'none',
      time: new Date(options.at).toISOString(),
      datacontenttype: 'application/json',
      ...(options.traceparent !== undefined && { traceparent: options.traceparent }),
      data: {
        concern_id: response.concernId,
        action: response.action,
        status: response.status,
        from_strategy_id: response.fromStrategyId,
        to_strategy_id: response.toStrategyId,
        risk_mode: response.riskMode,
        run_state: concern?.runState ?? null,
        dry_run: response.dryRun,
        codes: response.errors.map(({ code }) => code),
        caller: options.caller,
        audit_seq: link.seq,
        audit_hash: link.hash,
      },
    },
  };
}
