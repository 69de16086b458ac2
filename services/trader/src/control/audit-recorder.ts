import {
  ControlAction,
  type ControlCode,
  type ControlResponse,
  type ControlStatus,
  type Log,
} from '@hermes-fleet/protocol';
import { failed, unwritten } from './answers.ts';
import type { Answer, Attempt } from './attempt.ts';
import type { AttemptRecord, ControlStore } from './control-store.ts';
import { isTooLarge } from './screening.ts';

/** What the desk tells the metrics; never throws. */
export interface DecisionObserver {
  /** Once for every attempt; `action` is one of the contract's, or 'none'. */
  decided(action: ControlAction | 'none', status: ControlStatus): void;
  /** Once for every reason why one was rejected, or failed. */
  rejected(code: ControlCode): void;
  /** An attempt is in the audit. */
  audited(): void;
}

/** The longest `on_behalf_of` and traceparent that are kept. */
const MAX_NOTE_CHARS = 200;

/** What the audit keeps of an attempt: a payload that is too large was not read, and is not kept. */
export function recordOf(
  { door, caller, text, onBehalfOf, traceparent }: Attempt,
  now: number,
): AttemptRecord {
  const note = (said: string): string => said.slice(0, MAX_NOTE_CHARS).toWellFormed();
  return {
    door,
    caller: caller.name,
    receivedAt: now,
    text: text === null || isTooLarge(text) ? null : text,
    ...(onBehalfOf !== undefined && { onBehalfOf: note(onBehalfOf) }),
    ...(traceparent !== undefined && { traceparent: note(traceparent) }),
  };
}

/** Writes the attempts that were not judged into the audit, and tells log and metrics of all. */
export interface AuditRecorder {
  /** Resolves with the answer: one that could not be audited is `failed`, and says so. */
  audit(record: AttemptRecord, response: ControlResponse): Promise<ControlResponse>;
  /** After an attempt is in the audit, however it came there. */
  audited(): void;
  tell(attempt: Attempt, decided: Answer): void;
}

export function createAuditRecorder(o: {
  store: Pick<ControlStore, 'refuse'>;
  watcher: DecisionObserver;
  log: Log;
}): AuditRecorder {
  const { store, watcher, log } = o;
  return {
    audit: async (record, response) => {
      try {
        await store.refuse(record, response);
        watcher.audited();
        return response;
      } catch (error) {
        log.error({ err: error, caller: record.caller }, 'an attempt could not be audited');
        const { code, message } = unwritten(error);
        const others = response.errors.filter((each) => each.code !== code);
        const errors = [{ code, message: `this attempt is not in the audit: ${message}` }];
        return failed({ ...response, errors: others }, { errors, result: response.result });
      }
    },
    audited: watcher.audited,
    tell: ({ caller, door }, { response }) => {
      const { decisionId: decision_id, concernId: concern_id, status } = response;
      const action = ControlAction.safeParse(response.action).data ?? 'none';
      const codes = response.errors.map(({ code }) => code);
      watcher.decided(action, status);
      for (const code of codes) watcher.rejected(code);
      const fields = { decision_id, concern_id, action, status, codes, caller: caller.name, door };
      if (status === 'failed') log.error(fields, 'a decision failed');
      else log.info(fields, 'a decision was answered');
    },
  };
}
