import type { Log } from '@hermes-fleet/protocol';
import type { Channel } from './channel.ts';
import { loadMemo, messageIdOf } from './memo.ts';
import { bookSpent } from './spending.ts';

/** Three calls of this length fit into the time that a run has to end after its abort. */
const TIMEOUT_MS = 3_000;

/**
 * Asks an agent to stop what a call began there; what it says that it has spent until then is booked. An agent that cannot
 * is left to itself. Bounded in time.
 */
export async function withdraw({ log }: { readonly log: Log }, { agent, call }: Channel): Promise<void> {
  const { client, endpoint, label } = agent;
  const memo = loadMemo(call);
  if (memo === undefined) return;
  const options = { timeoutMs: TIMEOUT_MS, traceparent: call.task.traceparent };
  try {
    let id = memo.taskId;
    if (id === undefined) {
      const listed = await client.listTasks(endpoint, memo.contextId, options);
      id = listed.find(({ messageIds }) => messageIds.includes(messageIdOf(call)))?.task.id;
    }
    if (id === undefined) return;
    const known = id;
    const task = await client
      .cancelTask(endpoint, known, options)
      // It may have ended by itself before that.
      .catch(() => client.getTask(endpoint, known, options));
    await bookSpent(call, agent, { kind: 'task', task });
  } catch (error) {
    log.warn({ agent: label, err: error }, 'task at an agent could not be canceled: it may go on');
  }
}
