import type { Concern, Reconciled, Strategy } from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';
import type { ControlResponse } from '@hermes-fleet/protocol/control';
import type { Log } from '@hermes-fleet/protocol/ports';
import type { Activation } from './activation.ts';
import { failedResponse, writeFailure } from './answers.ts';
import type { ControlStore, OpenApply } from './control-store.ts';
import type { RetryQueue } from './retry-queue.ts';

/** The state and the active strategy of a concern before and after a decision. */
export interface Change {
  readonly before: Concern;
  readonly previous: Strategy | undefined;
  readonly next: Concern;
  readonly strategy: Strategy | undefined;
}

/** Most outcomes that wait to be recorded; the next start records those beyond it. */
const MAX_PENDING_OUTCOMES = 1000;

/** The stored state still holds the change until the rollback is written, and the next start applies the stored state. */
const UNRECORDED =
  ', but that could not be recorded yet: no other decision is made here until it is, and a restart before that applies the change';

export type Applier = ReturnType<typeof createApplier>;

export function createApplier(options: {
  store: Pick<ControlStore, 'settle' | 'compensate' | 'openApplies'>;
  activation: Activation;
  retryQueue: RetryQueue;
  log: Log;
}) {
  const restoring = new Map<string, Concern>();
  const rollbackKey = (concernId: string): string => `take back ${concernId}`;

  const rollBack = async (open: OpenApply, change: Change, cause: unknown): Promise<ControlResponse> => {
    const { before, previous: former } = change;
    options.log.error(
      { err: cause, decision_id: open.decisionId },
      'an activation failed; the previous state is restored',
    );
    const reconciled = await options.activation.activate(before, former).then(
      () => true,
      () => false,
    );
    const message = cause instanceof FleetError ? cause.message : 'the runtime failed; its log has the cause';
    const because = (goesOn: string): ControlResponse =>
      failedResponse(open.response, {
        before,
        errors: [
          { code: 'activation_failed', message: `${message}; the previous state stays in effect${goesOn}` },
        ],
        result: { modeChange: 'restored', reconciled },
      });
    const response = because('');
    restoring.set(open.concernId, before);
    options.retryQueue.enqueue(rollbackKey(open.concernId), async () => {
      // An earlier write may have succeeded although the store reported a failure.
      const isOpen = options.store.openApplies().some(({ auditSeq }) => auditSeq === open.auditSeq);
      if (isOpen) await options.store.compensate(open, before, response);
      restoring.delete(open.concernId);
      // Undoes the effect of a call that hung meanwhile.
      options.activation.converge(open.concernId);
    });
    try {
      await options.retryQueue.runNow(rollbackKey(open.concernId));
      return response;
    } catch (error) {
      const owed = because(UNRECORDED);
      return failedResponse(owed, { before, errors: [writeFailure(error)], result: owed.result });
    }
  };

  const settle = (open: OpenApply, response: ControlResponse): void => {
    const { decisionId: decision_id, auditSeq } = open;
    if (options.retryQueue.size < MAX_PENDING_OUTCOMES)
      options.retryQueue.enqueue(`record the outcome of ${auditSeq}`, () =>
        options.store.settle(open, response),
      );
    else
      options.log.error(
        { decision_id },
        'too many outcomes wait to be recorded; the next start records this one',
      );
  };

  return {
    /**
     * Activates a stored change and records its outcome, or rolls it back if the runtime fails. Resolves with the response:
     * applied or failed.
     */
    apply: async (open: OpenApply, change: Change): Promise<ControlResponse> => {
      let done: Reconciled;
      try {
        done = await options.activation.activate(change.next, change.strategy);
      } catch (error) {
        return rollBack(open, change, error);
      }
      const response = withOutcome(open.response, done);
      settle(open, response);
      return response;
    },
    /**
     * Writes a pending rollback of the concern; undefined if none is pending. Rejects while it cannot be written: no decision
     * is made until then.
     */
    awaitRollback: (concernId: string): Promise<void> | undefined => {
      const key = rollbackKey(concernId);
      return options.retryQueue.has(key) ? options.retryQueue.runNow(key) : undefined;
    },
    /**
     * Activates the stored state of a concern, and records the outcome of this decision if it has none: it was written although
     * the store reported a failure.
     */
    finish: async (concernId: string, decisionId: string): Promise<void> => {
      const open = options.store.openApplies().find((each) => each.decisionId === decisionId);
      const done = await options.activation.reconcile(concernId);
      if (open !== undefined) await options.store.settle(open, withOutcome(open.response, done));
    },
    /** The concern that a pending rollback restores, which is what runs; undefined if none is pending. */
    restoring: (concernId: string): Concern | undefined => restoring.get(concernId),
  };
}

/** Adds the runtime's result to a response. */
export function withOutcome(response: ControlResponse, done: Reconciled): ControlResponse {
  const { canceledOrders, inheritedPosition } = done;
  const inherited = inheritedPosition === undefined ? {} : { inheritedPosition };
  return { ...response, result: { ...response.result, reconciled: true, canceledOrders, ...inherited } };
}
