import type { PushConfig } from '@hermes-fleet/ledger';
import { partUrlAt } from '../server/artifact-route.ts';
import { followTask, type StreamItem } from '../server/follow-task.ts';
import { requireTask } from '../server/read-tasks.ts';
import { ownArtifacts } from '../wire/artifact-view.ts';
import { taskView } from '../wire/task-view.ts';
import { createSlotHolder, pacedLedger } from './paced-ledger.ts';
import { isTold, notificationOf } from './send-notification.ts';
import { createTarget, type PushDeps, type Sent, type Target } from './target.ts';

/**
 * Delivers what a stream of the task would carry, one notification after the other, from the durable position of the config
 * to the end of the task. Each is sent until its target acknowledges it, so each arrives at least once and in order. It is
 * made anew for each attempt: a config that waits, for an event, a slot or its target, holds its position only.
 * Returns when the config is finished, given up or gone. Rejects with the signal's reason.
 */
export async function deliverConfig(config: PushConfig, deps: PushDeps, signal: AbortSignal): Promise<void> {
  const target = createTarget(config, deps, signal);
  /** The first updates of an event that were acknowledged without a position in the ledger: those of the task's end. */
  const acknowledged = { seq: 0, count: 0 };
  for (;;) {
    await target.backOff();
    const sent = await deliverUpdates(config, target, acknowledged, deps, signal);
    if (sent === 'failed') continue;
    if (sent === 'sent') await deps.ledger.push.end(config.n, 'finished');
    return;
  }
}

/** Delivers the updates after the durable position up to the first one that fails. */
async function deliverUpdates(
  { n, caller, taskId, version, url }: PushConfig,
  target: Target,
  acknowledged: { seq: number; count: number },
  deps: PushDeps,
  signal: AbortSignal,
): Promise<Sent> {
  const { ledger } = deps;
  const { host } = new URL(url);
  using slot = createSlotHolder(() => deps.slots.takeSlot({ caller, host }, signal));
  if (ledger.push.get(n)?.hasBegun === false) await slot.renew();
  const config = ledger.push.get(n);
  const record = ledger.get(taskId);
  if (config?.state !== 'active' || record === undefined) return 'over';
  const { position, hasBegun } = config;
  const metadata = deps.metadata?.(taskId);
  const urlOf = partUrlAt(deps.rpcUrl, taskId);
  const current = () => ({
    ...taskView(requireTask(ledger, taskId), [], {
      questions: ledger.questions(taskId),
      own: ownArtifacts(ledger.artifacts(taskId), urlOf),
      ownFirst: true,
    }),
    metadata,
  });

  const deliver = async ({ eventId, response }: StreamItem, id: string): Promise<Sent> => {
    const notification = notificationOf(version, response, current);
    response.payload = undefined;
    if (notification === undefined) return 'sent';
    const sent = await target.send(id, notification);
    if (sent !== 'sent' || eventId === undefined) return sent;
    return (await ledger.push.delivered(n, eventId)) ? 'sent' : 'over';
  };

  /** The event behind the next update, and the update's number among those of the event. */
  const next = { seq: position, index: 0 };
  const onEvent = (seq: number): void => void Object.assign(next, { seq, index: 0 });
  const followed = { ...record };
  const updates = followTask({
    ...{ record: followed, afterSeq: position, metadata, untilAsked: false, isResumed: hasBegun },
    ...{ hasHandshake: () => false, urlOf, signal },
    ledger: pacedLedger(ledger, { slot, isTold: (type) => isTold(version, type), onEvent }),
  });
  let isSnapshot = true;
  for await (const item of updates) {
    const { seq, index } = next;
    // The config's number is part of it: another config of the task may have the same target.
    const id = `${taskId}.${n}.${seq}.${isSnapshot ? 'snapshot' : index}`;
    const isKnown = isSnapshot ? hasBegun : seq === acknowledged.seq && index < acknowledged.count;
    const sent = isKnown ? 'sent' : await deliver(item, id);
    if (sent !== 'sent') return sent;
    item.response.payload = undefined;
    if (isSnapshot) {
      isSnapshot = false;
      // Only the snapshot shows them, and a config may follow its task for hours.
      Object.assign(followed, { message: {}, dispatch: {}, result: undefined });
      continue;
    }
    next.index += 1;
    if (item.eventId === undefined && !isKnown) Object.assign(acknowledged, { seq, count: next.index });
  }
  return 'sent';
}
