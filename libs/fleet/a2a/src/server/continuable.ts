import { isTerminal, type Ledger, type TaskRecord } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { InboundMessage } from '@hermes-fleet/protocol/ports';

/**
 * Throws CONTEXT_MISMATCH or UNSUPPORTED_OPERATION unless the task accepts a further message: it has not ended, and the
 * message names its context or none. A copy of an earlier answer is accepted even after the task has ended.
 */
export function continuable(
  ledger: Ledger,
  record: TaskRecord,
  { contextId, messageId }: Pick<InboundMessage, 'contextId' | 'messageId'>,
): TaskRecord {
  if (contextId !== undefined && contextId !== record.contextId) {
    const reason = 'is not the context of the task that the message names';
    throw new FleetError('CONTEXT_MISMATCH', `message.contextId ${reason}`, {
      fields: [{ path: 'message.contextId', reason }],
    });
  }
  const isCopy = (): boolean =>
    ledger.questions(record.id).some((one) => one.answer?.messageId === messageId);
  if (isTerminal(record.state) && !isCopy()) {
    throw new FleetError('UNSUPPORTED_OPERATION', 'the task has ended; send the message without its task id');
  }
  return record;
}
