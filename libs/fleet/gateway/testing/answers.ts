import assert from 'node:assert/strict';
import type { Caller, InboundMessage } from '@hermes-fleet/protocol/ports';
import { inbound } from './messages.ts';
import { CALLER } from './scripts.ts';
import type { TestProfile } from './test-profile.ts';

export async function answer(
  neo: TestProfile,
  taskId: string,
  text: string,
  more: Partial<InboundMessage> = {},
  caller: Caller = CALLER,
): Promise<void> {
  const accepted = await neo.gateway.accept(inbound({ taskId, text, ...more }), caller);
  assert.deepEqual(accepted, { kind: 'task', taskId });
}

export const questions = (neo: TestProfile, id: string): [string, string | undefined][] =>
  neo.ledger.questions(id).map(({ text, answer: given }) => [text, given?.text]);
