import type { Ledger } from '@hermes-fleet/ledger';
import { dispatchFingerprint, FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { decodeAnnounce, decodeDispatch } from '@hermes-fleet/protocol/handshake';
import {
  type Accepted,
  type Caller,
  type InboundMessage,
  type Intake,
  systemIds,
} from '@hermes-fleet/protocol/ports';

export type Script = (taskId: string, inbound: InboundMessage) => Promise<void>;

export interface ScriptedIntake extends Intake {
  /** Accepted messages, in order. */
  readonly inbound: InboundMessage[];
}

/** An intake that writes to a real ledger; a script takes the place of the agent. */
export function scriptedIntake(ledger: Ledger, script: Script): ScriptedIntake {
  const inbound: InboundMessage[] = [];
  const need = (caller: Caller, scope: string): void => {
    if (!caller.scopes.has(scope))
      throw new FleetError('FORBIDDEN', `caller "${caller.name}" lacks "${scope}"`);
  };
  return {
    inbound,
    accept: async (message, caller): Promise<Accepted> => {
      const handshake = message.data.map(({ data }) => data).find(isJsonObject);
      if (handshake?.type === 'SESSION_ANNOUNCE') {
        need(caller, 'announce');
        decodeAnnounce(handshake);
        const contextId = message.contextId ?? 'handshake:hermes-neo';
        return { kind: 'reply', contextId, data: handshake, text: 'ready' };
      }
      need(caller, 'dispatch');
      const { taskId, messageId, text, raw } = message;
      if (taskId !== undefined && ledger.questions(taskId).length > 0) {
        await ledger.answer(taskId, { messageId, text, message: raw });
        return { kind: 'task', taskId };
      }
      const dispatch = handshake ?? prose(message);
      const { task } = decodeDispatch(dispatch);
      if (dispatch.brief === 'explode') throw new Error('secret: /etc/hermes/token');
      const accepted = await ledger.accept({
        id: systemIds.uuid(),
        contextId: message.contextId ?? systemIds.uuid(),
        caller: caller.name,
        key: task.taskId,
        fingerprint: dispatchFingerprint(dispatch),
        message: message.raw,
        dispatch,
      });
      inbound.push(message);
      if (accepted.created) void script(accepted.task.id, message).catch(() => undefined);
      return { kind: 'task', taskId: accepted.task.id };
    },
    cancel: async (taskId) => {
      const result = resultOf(ledger, taskId, 'error', {
        error: { code: 'canceled', message: 'canceled', retryable: false },
      });
      await ledger.append(taskId, { type: 'canceled', data: {} }, { state: 'canceled', result });
    },
  };
}

function prose(message: InboundMessage): JsonObject {
  const task = { task_id: systemIds.uuid() };
  return { type: 'TASK_DISPATCH', protocol_version: '2.0', task, brief: message.text };
}

export function resultOf(ledger: Ledger, taskId: string, status: string, more: JsonObject = {}): JsonObject {
  return {
    type: 'TASK_RESULT',
    protocol_version: '2.0',
    task_id: ledger.get(taskId)?.key ?? '',
    status,
    tokens_spent: 0,
    next_steps: [],
    blocked_reason: null,
    artifacts: { files_changed: [] },
    ...more,
  };
}

const STATE = { done: 'completed', partial: 'completed', blocked: 'rejected', error: 'failed' } as const;

/** Ends a task with a result. */
export async function finish(
  ledger: Ledger,
  taskId: string,
  status: keyof typeof STATE = 'done',
  more: JsonObject = {},
): Promise<void> {
  const result = resultOf(ledger, taskId, status, more);
  await ledger.append(taskId, { type: status, data: { status } }, { state: STATE[status], result });
}
