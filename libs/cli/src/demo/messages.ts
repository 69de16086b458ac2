import type { Read } from '@hermes-fleet/net/api';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import {
  decodeAnnounce,
  decodeResult,
  type SessionAnnounce,
  type TaskResult,
} from '@hermes-fleet/protocol/handshake';
import { z } from 'zod';

const BRIEF = [
  'Write a note and read it back.',
  '',
  '```note.txt',
  'A plain message, no contract.',
  '```',
  '',
  '```sh',
  'cat note.txt',
  '```',
].join('\n');

/** The parameters of a plain text message, as any A2A client sends it. */
export const textMessage = (id: string, text: string = BRIEF, contextId?: string): JsonObject => ({
  message: {
    messageId: id,
    role: 'ROLE_USER',
    ...(contextId === undefined ? {} : { contextId }),
    parts: [{ text }],
  },
});

const Holder = z.object({
  parts: z.array(z.object({ data: z.record(z.string(), z.unknown()).optional() })),
});
const Sent = z.object({
  task: z.object({ artifacts: z.array(Holder).optional() }).optional(),
  message: Holder.optional(),
});
/** The answer of `SendMessage`, with what the demo reads of it. */
export type Sent = Read<typeof Sent>;
export const SEND_MESSAGE = { method: 'SendMessage', answer: Sent };

/** The TASK_RESULT in the task of an answer. Throws PEER_REFUSED when there is none. */
export function resultIn({ task }: Sent): TaskResult {
  return decodeResult(dataOf(task?.artifacts ?? [], 'TASK_RESULT'));
}

/** The SESSION_ANNOUNCE in the message of an answer. Throws PEER_REFUSED when there is none. */
export function announceIn({ message }: Sent): SessionAnnounce {
  return decodeAnnounce(dataOf(message ? [message] : [], 'SESSION_ANNOUNCE'));
}

function dataOf(holders: readonly Read<typeof Holder>[], type: string): unknown {
  const found = holders.flatMap(({ parts }) => parts).find(({ data }) => data?.type === type);
  if (found) return found.data;
  throw new FleetError('PEER_REFUSED', `the answer holds no ${type}`);
}
