import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ReplySchema } from '@hermes-fleet/protocol/handshake';
import { outputProblems } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask } from '@hermes-fleet/protocol/ports';
import { type FinalMessage, readJsonReply } from './final-message.ts';

export interface ReplyContract {
  readonly kind: ReplySchema;
  /** `task.output_schema`, for a JSON reply. */
  readonly schema: JsonObject | undefined;
}

export function replyContract({ dispatch }: AdmittedTask): ReplyContract {
  const { replySchema = 'prose', outputSchema } = dispatch.task;
  return {
    kind: replySchema,
    schema: replySchema === 'json' && isJsonObject(outputSchema) ? outputSchema : undefined,
  };
}

/** Asks for a JSON reply in the prompt; offline/runbook recognizes it. */
export const JSON_REPLY = 'Reply with one JSON value and nothing else.';

const REQUESTS: Readonly<Record<ReplySchema, string>> = {
  prose: 'Reply in prose, briefly.',
  structured: 'Reply with a short summary of what you did and how you verified it.',
  json: JSON_REPLY,
};

export function replyRequest({ kind, schema }: ReplyContract): string {
  if (schema === undefined) return REQUESTS[kind];
  return `${REQUESTS[kind]} It must fit this JSON Schema:\n\`\`\`json\n${JSON.stringify(schema)}\n\`\`\``;
}

export interface Reply {
  /** One line for each violation of the contract; empty when it is met. */
  readonly problems: string[];
  /** The value of a JSON reply that meets the contract. */
  readonly output?: JsonValue;
}

const EMPTY = {
  prose: 'the reply has no text',
  structured: 'there is no summary of what was done and how it was verified',
};

/** Checks a last message against the contract. Verification is judged by the journal, not here. */
export function readReply(
  { text, claim }: Pick<FinalMessage, 'text' | 'claim'>,
  contract: ReplyContract,
): Reply {
  const problems: string[] = [];
  if (claim === 'unreadable') problems.push('the outcome block cannot be read');
  if (contract.kind !== 'json') {
    if (text === '') problems.push(EMPTY[contract.kind]);
    return { problems };
  }
  const output = readJsonReply(text);
  if (output === undefined) return { problems: [...problems, 'the reply is not JSON'] };
  if (contract.schema !== undefined) problems.push(...outputProblems(contract.schema, output));
  return problems.length > 0 ? { problems } : { problems, output };
}
