import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { isWriteTask, type Unmet } from '@hermes-fleet/protocol/handshake';
import { type AdmittedTask, type Log, type RunContext, taskFields } from '@hermes-fleet/protocol/ports';
import { isCommitBase, type Workspace } from '@hermes-fleet/workspace';
import { type InboxOptions, receive } from '../inbox/receive.ts';
import { continuedMessages, furtherTaskMessage } from '../messages/earlier-messages.ts';
import { taskMessage } from '../messages/task-message.ts';
import { attachedText } from '../prompt/attached.ts';
import { newConversation, type RunState, readCheckpoint } from '../run/run-state.ts';

interface RunStartOptions {
  /** False for a model that reads nothing but the task. */
  readonly continues: boolean;
  readonly log: Log;
  readonly inbox: Omit<InboxOptions, 'log'>;
}

/** The share of a task's budget that the earlier conversation may take at each step. */
const EARLIER_SHARE = 1 / 20;

/** Begins a task in its workspace, and continues the conversation of its context (docs/agent.md#going-on). */
export async function startState(
  options: RunStartOptions,
  task: AdmittedTask,
  context: RunContext,
  workspace: Workspace,
): Promise<RunState | { readonly refused: Unmet }> {
  const { dispatch } = task;
  const begun = await workspace.begin(isWriteTask(dispatch));
  if ('refused' in begun) return begun;
  const ending = AbortSignal.any([context.signal, context.stopping]);
  const attached =
    task.parts.length === 0
      ? undefined
      : await receive({ ...options.inbox, log: options.log }, task, workspace.files, ending);
  if (attached && 'refused' in attached) return attached;
  const text = attached === undefined ? '' : attachedText(attached);
  const start = newConversation(`${taskMessage(dispatch.brief)}${text}`);
  const messages = options.continues ? await continued(options, task, context, text) : undefined;
  return {
    ...start,
    ...(messages && { messages }),
    version: 1,
    keep_conversation: true,
    base: begun.base,
    nudges: 0,
  };
}

/** Continues an interrupted task from its checkpoint. */
export async function resumeState(saved: JsonObject, workspace: Workspace): Promise<RunState> {
  const state = readCheckpoint(saved);
  await workspace.resume(state.base);
  return { ...state, keep_conversation: true };
}

/** True if the task of the checkpoint works in place and its work is committed at its end. */
export const commitsInPlace = (saved: JsonObject | undefined): boolean =>
  typeof saved?.base === 'string' && isCommitBase(saved.base);

async function continued(
  { log }: RunStartOptions,
  task: AdmittedTask,
  { earlier: find, budget, reportEvent }: RunContext,
  text: string,
): Promise<RunState['messages'] | undefined> {
  const earlier = find?.();
  if (earlier === undefined || earlier.messages.length === 0) return undefined;
  const { limit = Number.POSITIVE_INFINITY } = budget;
  const history = await continuedMessages(earlier, limit * EARLIER_SHARE);
  if (history === undefined) {
    log.warn(taskFields(task), 'the conversation of a context cannot be read: the task begins a new one');
    return undefined;
  }
  const { messages, isWhole } = history;
  const fields = { messages: messages.length, whole: isWhole };
  log.info({ ...taskFields(task), ...fields }, 'a task continues the conversation of its context');
  await reportEvent({ type: 'progress', data: { continued: fields } });
  const { brief } = task.dispatch;
  return [
    ...messages,
    { role: 'user', content: `${furtherTaskMessage(brief, { isWhole, result: earlier.result })}${text}` },
  ];
}

/** True when the profile is stopping, so that its next start resumes the run. */
export function resumesLater({ signal, stopping }: RunContext, error: unknown): boolean {
  if (!signal.aborted) return stopping.aborted && error === stopping.reason;
  return signal.reason instanceof FleetError && signal.reason.code === 'SHUTTING_DOWN';
}
