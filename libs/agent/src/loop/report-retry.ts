import { type JsonObject, taskFields } from '@hermes-fleet/protocol';
import type { ModelRetry } from '../model/retries.ts';
import type { RunResources } from '../run/conversation.ts';

/**
 * Reports a model call that is tried again, in the log and in a progress event (docs/events.md#the-events). It tells the
 * caller whether the text of the step so far is void.
 */
export async function reportRetry(
  { attempt, reason, status, waitMs, isTextVoid }: ModelRetry,
  {
    task,
    model,
    log,
    progress,
  }: Pick<RunResources, 'task' | 'model' | 'log'> & {
    readonly progress: (data: JsonObject) => Promise<void>;
  },
): Promise<void> {
  const retry = { attempt, reason, http_status: status ?? null, wait_ms: waitMs, text_void: isTextVoid };
  log.warn({ ...taskFields(task), model: model.info.id, ...retry }, 'a model call is tried again');
  await progress({ retry });
}
