import type { Concern, Reconciled, Strategy } from '@hermes-fleet/paper';
import { type ControlResponse, FleetError, type Log } from '@hermes-fleet/protocol';
import type { Activation } from './activation.ts';
import { failed, unwritten } from './answers.ts';
import type { ControlStore, OpenApply } from './control-store.ts';
import type { RetryQueue } from './retry-queue.ts';

/** A verdict that changes a concern, with what is to run before and after. */
export interface Change {
  readonly before: Concern;
  readonly former: Strategy | undefined;
  readonly next: Concern;
  readonly strategy: Strategy | undefined;
}

/** Above it, outcomes that can't be recorded are not kept. */
const MAX_DUTIES = 1000;

/** What is on disk says otherwise, until it can be written; the next start goes by what is on disk. */
const UNRECORDED =
  ', but that could not be recorded yet: nothing else is decided here until it is, and a restart before that applies it';

export interface Applier {
  /**
   * Activates a change that is on disk, and records its outcome; takes it back where the runtime can't. Resolves with the
   * answer: applied or failed.
   */
  apply(open: OpenApply, change: Change): Promise<ControlResponse>;
  /** Nothing is decided about a concern while a change of it is to be taken back: rejects while that can't be written. */
  ready(concernId: string): Promise<void>;
}

export function createApplier(o: {
  store: Pick<ControlStore, 'settle' | 'compensate' | 'openApplies'>;
  activation: Activation;
  duties: RetryQueue;
  log: Log;
}): Applier {
  const undoing = (concernId: string): string => `take back ${concernId}`;

  const takeBack = async (open: OpenApply, change: Change, cause: unknown): Promise<ControlResponse> => {
    const { before, former } = change;
    o.log.error(
      { err: cause, decision_id: open.decisionId },
      'an activation failed; what was before is restored',
    );
    const reconciled = await o.activation.activate(before, former).then(
      () => true,
      () => false,
    );
    const message =
      cause instanceof FleetError ? cause.message : 'the runtime could not do it; its log says why';
    const because = (goesOn: string): ControlResponse =>
      failed(open.response, {
        before,
        errors: [{ code: 'activation_failed', message: `${message}; what was before goes on${goesOn}` }],
        result: { modeChange: 'restored', reconciled },
      });
    const response = because('');
    o.duties.owe(undoing(open.concernId), async () => {
      // Where the store said that it could not, and did.
      const isOpen = o.store.openApplies().some(({ auditSeq }) => auditSeq === open.auditSeq);
      if (isOpen) await o.store.compensate(open, before, response);
      // Also what a call that hung did in the meantime is undone.
      o.activation.converge(open.concernId);
    });
    try {
      await o.duties.pay(undoing(open.concernId));
      return response;
    } catch (error) {
      const owed = because(UNRECORDED);
      return failed(owed, { before, errors: [unwritten(error)], result: owed.result });
    }
  };

  const settle = (open: OpenApply, response: ControlResponse): void => {
    const { decisionId: decision_id, auditSeq } = open;
    if (o.duties.size < MAX_DUTIES)
      o.duties.owe(`record the outcome of ${auditSeq}`, () => o.store.settle(open, response));
    else o.log.error({ decision_id }, 'too many outcomes wait to be recorded; the next start does it');
  };

  return {
    apply: async (open, change) => {
      let done: Reconciled;
      try {
        done = await o.activation.activate(change.next, change.strategy);
      } catch (error) {
        return takeBack(open, change, error);
      }
      const response = withOutcome(open.response, done);
      settle(open, response);
      return response;
    },
    ready: (concernId) => o.duties.pay(undoing(concernId)),
  };
}

/** The answer with what the runtime did. */
export function withOutcome(response: ControlResponse, done: Reconciled): ControlResponse {
  const { canceledOrders, inheritedPosition } = done;
  const inherited = inheritedPosition === undefined ? {} : { inheritedPosition };
  return { ...response, result: { ...response.result, reconciled: true, canceledOrders, ...inherited } };
}
