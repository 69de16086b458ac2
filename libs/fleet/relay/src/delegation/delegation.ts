import type { OutboundMessage } from '@hermes-fleet/a2a';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { MessagePart } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';

export const ConsideredPeers = z.array(
  z.object({
    peer: z.string(),
    verdict: z.enum(['chosen', 'eligible', 'excluded']),
    score: z.number(),
    reasons: z.array(z.string()),
  }),
);

export const Delegation = z.object({
  peer: z.string(),
  messageId: z.string(),
  contextId: z.string(),
  /** The dispatch as first sent, or `{ text }` for a prose peer. Every resend repeats it byte for byte. */
  payload: z.custom<JsonObject>(isJsonObject),
  /** The peer gets text instead of handshake messages. */
  prose: z.boolean().optional(),
  /** The peer's token budget; absent without a limit. */
  slice: z.number().optional(),
  startedAt: z.string(),
  remoteTaskId: z.string().optional(),
  /** How many of the peer's questions are answered or withdrawn, and whether the peer has the last answer. */
  answers: z
    .object({ count: z.number(), delivered: z.boolean(), statusId: z.string().optional() })
    .optional(),
  /** The peer's open question; absent once it is answered or withdrawn. */
  asked: z.object({ text: z.string(), statusId: z.string().optional() }).optional(),
  /** The routing explanation of this choice. */
  considered: ConsideredPeers.optional(),
});

/** A dispatch that a peer has, or may have. */
export type Delegation = z.output<typeof Delegation>;

/** What the message has beside the delegation. */
export interface DispatchExtras {
  /** The data and files of the task. They are part of every copy of the dispatch. */
  readonly parts: readonly MessagePart[];
  /** Opens the caller's checkout for the peer that does the task. */
  readonly repositoryToken?: string | undefined;
}

/**
 * The message with the dispatch and its data and files. `acceptUntil` is by the peer's clock, ms since the epoch. The message alone
 * has the token of the caller's checkout: what is stored and shown of a dispatch has none.
 */
export function dispatchMessage(
  { messageId, contextId, payload: stored }: Pick<Delegation, 'messageId' | 'contextId' | 'payload'>,
  { parts, repositoryToken }: DispatchExtras,
  acceptUntil: number | undefined,
): OutboundMessage {
  const payload = withToken(stored, repositoryToken);
  if (acceptUntil === undefined) return { messageId, contextId, data: payload, parts, blocking: false };
  const routing = isJsonObject(payload.routing) ? payload.routing : {};
  const data = { ...payload, routing: { ...routing, accept_until: new Date(acceptUntil).toISOString() } };
  return { messageId, contextId, data, parts, blocking: false };
}

function withToken(payload: JsonObject, token: string | undefined): JsonObject {
  const { task } = payload;
  if (token === undefined || !isJsonObject(task) || !isJsonObject(task.repository)) return payload;
  const { repository } = task;
  return repository.bundle === undefined
    ? payload
    : { ...payload, task: { ...task, repository: { ...repository, token } } };
}
