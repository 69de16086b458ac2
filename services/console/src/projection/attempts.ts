import { type JsonObject, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { objectsIn, textIn, textsIn } from './fields.ts';

/** One try of a task at a peer. */
export interface TaskAttempt {
  /** Ms since the epoch. */
  readonly at: number;
  readonly peer: string;
  readonly considered: readonly {
    readonly peer: string;
    readonly verdict: string;
    readonly score: number;
    readonly reasons: readonly string[];
  }[];
  readonly status: string | null;
  readonly reason: string | null;
}

const MAX_ATTEMPTS = 100;

/** The attempts of a relayed task, from its own events in their order. */
export function attemptsOf(
  events: readonly { readonly at: number; readonly type: string; readonly data: JsonObject }[],
): TaskAttempt[] {
  const attempts: TaskAttempt[] = [];
  const close = (status: string, reason: string | null): void => {
    const last = attempts.at(-1);
    if (last?.status === null) attempts[attempts.length - 1] = { ...last, status, reason };
  };
  for (const { at, type, data } of events) {
    if (data.part !== undefined) continue;
    if (type === 'rerouted') {
      const reason = textIn(data.reason, 100);
      close(reason === 'unreachable' ? 'unreachable' : 'refused', reason);
    } else if (type === 'delegated') {
      close('refused', null);
      const peer = textIn(data.peer);
      if (peer !== null && attempts.length < MAX_ATTEMPTS)
        attempts.push({ at, peer, considered: consideredIn(data), status: null, reason: null });
    } else if (type === 'queued' && data.waiting === true) close('refused', textIn(data.reason, 100));
    else if (TERMINAL_EVENTS.has(type))
      close(type, textIn(type === 'blocked' ? data.reason : data.error, 100));
  }
  return attempts;
}

const consideredIn = (data: JsonObject): TaskAttempt['considered'] =>
  objectsIn(data.considered).flatMap(({ peer, verdict, score, reasons }) => {
    const name = textIn(peer);
    if (name === null) return [];
    return [
      {
        peer: name,
        verdict: textIn(verdict, 64) ?? 'unknown',
        score: typeof score === 'number' && Number.isFinite(score) ? score : 0,
        reasons: textsIn(reasons),
      },
    ];
  });
