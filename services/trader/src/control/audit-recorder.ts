import { ControlAction, type ControlResponse } from '@hermes-fleet/protocol/control';
import { type Log, traceField } from '@hermes-fleet/protocol/ports';
import type { Recorder } from '@hermes-fleet/service';
import { failedResponse, writeFailure } from './answers.ts';
import type { AttemptRecord, ControlStore } from './control-store.ts';
import type { Answer, Attempt } from './decision-service.ts';
import type { TRADER_FAMILIES } from './metric-families.ts';
import { isTooLarge } from './screening.ts';

/** Counts the attempts and their outcomes. */
export type DecisionMetrics = Pick<Recorder<typeof TRADER_FAMILIES>, 'add'>;

/** Longest recorded `on_behalf_of` and traceparent. */
const MAX_NOTE_CHARS = 200;

/** The audited form of an attempt. A payload above the size limit is not recorded. */
export function recordOf(
  { transport, caller, text, onBehalfOf, traceparent }: Attempt,
  now: number,
): AttemptRecord {
  const note = (text: string): string => text.slice(0, MAX_NOTE_CHARS).toWellFormed();
  return {
    transport,
    caller: caller.name,
    receivedAt: now,
    text: text === null || isTooLarge(text) ? null : text,
    ...(onBehalfOf !== undefined && { onBehalfOf: note(onBehalfOf) }),
    ...(traceparent !== undefined && { traceparent: note(traceparent) }),
  };
}

/** Audits the attempts that were not judged, and reports all attempts to log and metrics. */
export function createAuditRecorder(options: {
  store: Pick<ControlStore, 'refuse'>;
  metrics: DecisionMetrics;
  log: Log;
}) {
  const { store, metrics, log } = options;
  return {
    /** Resolves with the response, or with a `failed` response if the attempt cannot be audited. */
    audit: async (record: AttemptRecord, response: ControlResponse): Promise<ControlResponse> => {
      try {
        await store.refuse(record, response);
        return response;
      } catch (error) {
        log.error({ err: error, caller: record.caller }, 'an attempt could not be audited');
        const { code, message } = writeFailure(error);
        const others = response.errors.filter((each) => each.code !== code);
        const known = response.errors.find((each) => each.code === code);
        const errors = [{ code, message: `this attempt is not in the audit: ${known?.message ?? message}` }];
        return failedResponse({ ...response, errors: others }, { errors, result: response.result });
      }
    },
    reportAttempt: ({ caller, transport, traceparent }: Attempt, { response }: Answer): void => {
      const { decisionId: decision_id, concernId: concern_id, status } = response;
      const action = ControlAction.safeParse(response.action).data ?? 'none';
      const codes = response.errors.map(({ code }) => code);
      metrics.add('fleet_trader_decisions_total', { action, status });
      for (const code of codes) metrics.add('fleet_trader_rejections_total', { code });
      const about = { decision_id, concern_id, action, status, codes };
      const fields = { ...about, caller: caller.name, door: transport, ...traceField({ traceparent }) };
      if (status === 'failed') log.error(fields, 'a decision failed');
      else log.info(fields, 'a decision was answered');
    },
  };
}
