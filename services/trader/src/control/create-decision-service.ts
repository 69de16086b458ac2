import type { Runtime } from '@hermes-fleet/market';
import { type Clock, inSpan, type Log, type Tracing } from '@hermes-fleet/protocol/ports';
import type { Access } from './access.ts';
import { createActivation } from './activation.ts';
import { writeFailure } from './answers.ts';
import { createApplier } from './apply-or-roll-back.ts';
import { createAuditRecorder, type DecisionMetrics, recordOf } from './audit-recorder.ts';
import { createConcernLock } from './concern-lock.ts';
import type { AttemptRecord, ControlStore } from './control-store.ts';
import { createDecide } from './decide.ts';
import type { Ruling } from './decide-parts.ts';
import type { Answer, Attempt, DecisionService } from './decision-service.ts';
import type { Policy } from './facts.ts';
import { duplicateAnswer } from './judge.ts';
import { createLimiter, type Limits } from './limits.ts';
import { createReads, type PerformanceOf } from './reads.ts';
import { createRecover } from './recover.ts';
import { createRefusalBound } from './refusal-bound.ts';
import { createRetryQueue } from './retry-queue.ts';
import { createScreening, refusal, summaryOfText } from './screening.ts';
import { createHolds, type HoldMarks } from './unwritten-restrictions.ts';

export interface DecisionServiceOptions {
  readonly store: ControlStore;
  readonly runtime: Pick<Runtime, 'preflight' | 'reconcile' | 'health' | 'view' | 'setHold'>;
  readonly marks: HoldMarks;
  readonly policy: Policy;
  readonly access: Access;
  /** Why the audit is broken; undefined if it is not, or nobody watches it. */
  readonly brokenAudit?: () => string | undefined;
  /** Without it, strategies have no performance. */
  readonly performanceOf?: PerformanceOf;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  readonly metrics: DecisionMetrics;
}

/** The decision service with the controls of its owner. */
export interface RunningDecisionService extends DecisionService {
  /** Called at the start, after seeding and before a transport opens. Failed parts are retried in the background. */
  recover(): Promise<void>;
  /** Stops the retries. Activations in progress fail, so that decisions in progress end now; later decisions fail. */
  close(): Promise<void>;
}

/** Throws CONFIG_INVALID for limits that admit nothing. */
export function createDecisionService(options: DecisionServiceOptions): RunningDecisionService {
  const { store, runtime, marks, access, limits, clock, log } = options;
  const brokenAudit = options.brokenAudit ?? (() => undefined);
  const performanceOf = options.performanceOf ?? (() => undefined);
  const auditRecorder = createAuditRecorder({ store, metrics: options.metrics, log });
  const refusalBound = createRefusalBound({ store, clock, log });
  const retryQueue = createRetryQueue({ clock, log });
  const activation = createActivation({ runtime, store, retryQueue, clock });
  const applier = createApplier({ store, activation, retryQueue, log });
  const holds = createHolds({
    runtime,
    marks,
    retryQueue,
    activate: async (concernId) => void (await activation.reconcile(concernId)),
  });
  const concernLock = createConcernLock({ clock, keptForPause: limits.keptForPause });
  const limiter = createLimiter(limits, clock);
  const enter = createScreening({ access, limiter, isConcern: knownConcerns(store) });
  const decide = createDecide({ ...options, activation, applier, concernLock, holds, brokenAudit });

  const unforeseen = (attempt: Attempt, error: unknown): Ruling => {
    log.error({ err: error, caller: attempt.caller.name }, 'a decision ended with an unexpected error');
    const { response } = refusal(summaryOfText(attempt.text), [writeFailure(error)]);
    return { response: { ...response, status: 'failed' }, httpStatus: 200, isAudited: false };
  };

  const answer = async (
    attempt: Attempt,
    rule: (record: AttemptRecord) => Promise<Ruling>,
  ): Promise<Answer> => {
    const record = recordOf(attempt, clock.now());
    const ruling = await rule(record).catch((error: unknown) => unforeseen(attempt, error));
    const { isAudited, ...decided } = ruling;
    const isWritten = isAudited || refusalBound.counts(attempt, decided.response);
    const response = isWritten ? decided.response : await auditRecorder.audit(record, decided.response);
    auditRecorder.reportAttempt(attempt, { ...decided, response });
    return { ...decided, response };
  };

  return {
    decide(attempt) {
      const { transport, traceparent: parent } = attempt;
      const start = { parent, attributes: { 'hermes.transport': transport } };
      return inSpan(options.tracing, 'decide', start, async (span) => {
        const decided = await answer(attempt, async (record) => {
          const entry = enter(attempt);
          if (!('decision' in entry)) return { ...entry, isAudited: false };
          return decide({ caller: attempt.caller, record, decision: entry.decision });
        });
        span?.set({ 'hermes.decision.status': decided.response.status });
        return decided;
      });
    },
    refuse: (attempt, code, message) =>
      answer(attempt, async () => {
        const isMalformed = code === 'invalid_payload' || code === 'unsupported_action';
        const reached = isMalformed ? { schemaValid: false } : {};
        return { ...refusal(summaryOfText(attempt.text), [{ code, message }], reached), isAudited: false };
      }),
    copied: (attempt, first) =>
      answer(attempt, async () => ({ response: duplicateAnswer(first), httpStatus: 200, isAudited: false })),
    ...createReads({ store, runtime, activation, access, brokenAudit, performanceOf }),
    recover: createRecover({ store, holds, marks, activation, retryQueue, clock, log }),
    close: async () => {
      retryQueue.close();
      activation.close();
      await refusalBound.close();
    },
  };
}

/** Caches positive answers: concerns are seeded at the start and stay while the process runs. */
function knownConcerns(store: Pick<ControlStore, 'concern'>): (id: string) => boolean {
  const known = new Set<string>();
  return (id) => {
    if (known.has(id)) return true;
    if (store.concern(id) === undefined) return false;
    known.add(id);
    return true;
  };
}
