import type { Log } from '@hermes-fleet/protocol';
import type { Channel } from './channel.ts';
import { loadMemo, messageIdOf } from './memo.ts';

/** Two calls of this length fit into the time that a run has to end after its abort. */
const TIMEOUT_MS = 3_000;

/** Asks an agent to stop what a call began there; an agent that cannot is left to itself. Bounded in time. */
export async function withdraw(
  { log }: { readonly log: Log },
  { agent: { client, endpoint, label }, call }: Channel,
): Promise<void> {
  const memo = loadMemo(call);
  if (memo === undefined) return;
  const options = { timeoutMs: TIMEOUT_MS, traceparent: call.task.traceparent };
  try {
    let id = memo.taskId;
    if (id === undefined) {
      const listed = await client.listTasks(endpoint, memo.contextId, options);
      id = listed.find(({ messageIds }) => messageIds.includes(messageIdOf(call)))?.task.id;
    }
    if (id !== undefined) await client.cancelTask(endpoint, id, options);
  } catch (error) {
    log.warn({ agent: label, err: error }, 'task at an agent could not be canceled: it may go on');
  }
}
