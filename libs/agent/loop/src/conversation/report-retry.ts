import type { JsonObject } from '@hermes-fleet/protocol';
import { taskFields } from '@hermes-fleet/protocol/ports';
import type { ModelRetry } from '../model/call/retries.ts';
import type { AgentModel } from '../model/create-model.ts';
import type { RunResources } from '../run/conversation.ts';

/**
 * Reports a model call that is tried again, in the log and in a progress event (docs/events.md#the-events). It tells the
 * caller whether the text of the step so far is void.
 */
export async function reportRetry(
  { attempt, reason, status, waitMs, isTextVoid }: ModelRetry,
  { task, model, log, progress }: Reporting,
): Promise<void> {
  const retry = { attempt, reason, http_status: status ?? null, wait_ms: waitMs, text_void: isTextVoid };
  log.warn({ ...taskFields(task), model: model.info.id, ...retry }, 'a model call is tried again');
  await progress({ retry });
}

/** Reports that another model is called, in the same way. */
export async function reportFallback(
  from: AgentModel,
  to: AgentModel,
  { task, log, progress }: Reporting,
): Promise<void> {
  const fallback = { from: from.info.id, to: to.info.id };
  log.warn({ ...taskFields(task), ...fallback }, 'another model is called');
  await progress({ fallback });
}

type Reporting = Pick<RunResources, 'task' | 'model' | 'log'> & {
  readonly progress: (data: JsonObject) => Promise<void>;
};
