import type { Runtime } from '@hermes-fleet/paper';
import type { Clock, Log } from '@hermes-fleet/protocol';
import type { Access } from './access.ts';
import { createActivation } from './activation.ts';
import { unwritten } from './answers.ts';
import { createApplier } from './apply.ts';
import type { Attempt, Decided } from './attempt.ts';
import { createClerk, type DeskWatcher, recordOf } from './clerk.ts';
import type { AttemptRecord, ControlStore } from './control-store.ts';
import { createDecide, type Ruling } from './decide.ts';
import type { Desk } from './desk.ts';
import { createDuties } from './duties.ts';
import { createEntry, saidIn, turnedAway } from './entry.ts';
import type { Policy } from './facts.ts';
import { createGate } from './gate.ts';
import { copyOf } from './judge.ts';
import { createLimiter, type Limits } from './limits.ts';
import { createReads } from './reads.ts';
import { createRecover } from './recover.ts';

export type { DeskWatcher } from './clerk.ts';

export interface DeskOptions {
  readonly store: ControlStore;
  readonly runtime: Pick<Runtime, 'preflight' | 'reconcile' | 'health' | 'view'>;
  readonly policy: Policy;
  readonly access: Access;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
  readonly watcher: DeskWatcher;
}

/** A desk that its process has brought up, and closes. */
export interface OpenDesk extends Desk {
  /** At boot, once the concerns are seeded and before a door opens. What it cannot do now, it goes on trying. */
  recover(): Promise<void>;
  /** Ends what it tries again and again; decisions under way end by themselves, within their deadlines. */
  close(): void;
}

/** The room behind the doors (design 4, Three doors). Throws CONFIG_INVALID for limits that let nothing through. */
export function createDesk(o: DeskOptions): OpenDesk {
  const { store, runtime, access, policy, limits, clock, log } = o;
  const clerk = createClerk({ store, watcher: o.watcher, log });
  const duties = createDuties({ clock, log });
  const activation = createActivation({ runtime, store, duties, clock });
  const applier = createApplier({ store, activation, duties, log });
  const gate = createGate({ clock, keptForPause: limits.keptForPause });
  const limiter = createLimiter(limits, clock);
  const enter = createEntry({ access, limiter, isConcern: knownConcerns(store) });
  const decide = createDecide({ store, runtime, activation, applier, gate, access, policy, clock, log });

  const unforeseen = (attempt: Attempt, error: unknown): Ruling => {
    log.error(
      { err: error, caller: attempt.caller.name },
      'a decision ended in an error that was not foreseen',
    );
    const { response } = turnedAway(saidIn(attempt.text), [unwritten(error)]);
    return { response: { ...response, status: 'failed' }, httpStatus: 200, isAudited: false };
  };

  const answer = async (
    attempt: Attempt,
    rule: (record: AttemptRecord) => Promise<Ruling>,
  ): Promise<Decided> => {
    const record = recordOf(attempt, clock.now());
    const ruling = await rule(record).catch((error: unknown) => unforeseen(attempt, error));
    const { isAudited, ...decided } = ruling;
    if (isAudited) clerk.audited();
    const response = isAudited ? decided.response : await clerk.audit(record, decided.response);
    clerk.tell(attempt, { ...decided, response });
    return { ...decided, response };
  };

  return {
    decide: (attempt) =>
      answer(attempt, async (record) => {
        const entry = enter(attempt);
        if (!('decision' in entry)) return { ...entry, isAudited: false };
        return decide({ caller: attempt.caller, record, decision: entry.decision });
      }),
    refuse: (attempt, code, message) =>
      answer(attempt, async () => {
        const isMalformed = code === 'invalid_payload' || code === 'unsupported_action';
        const reached = isMalformed ? { schemaValid: false } : {};
        return { ...turnedAway(saidIn(attempt.text), [{ code, message }], reached), isAudited: false };
      }),
    copied: (attempt, first) =>
      answer(attempt, async () => ({ response: copyOf(first), httpStatus: 200, isAudited: false })),
    ...createReads({ store, runtime, activation, access }),
    recover: createRecover({ store, activation, duties, clock }),
    close: duties.close,
  };
}

/** Concerns are listed at the start: one that was there stays while the process runs. */
function knownConcerns(store: Pick<ControlStore, 'concern'>): (id: string) => boolean {
  const known = new Set<string>();
  return (id) => {
    if (known.has(id)) return true;
    if (store.concern(id) === undefined) return false;
    known.add(id);
    return true;
  };
}
