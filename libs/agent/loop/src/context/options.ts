import type { JsonObject } from '@hermes-fleet/protocol';
import type { ModelCallRequest } from '../model/call/model-call.ts';
import type { ConversationOptions } from '../run/conversation.ts';

export interface ContextWindowOptions extends Pick<ConversationOptions, 'state' | 'key' | 'save'> {
  /** The system prompt and the tools' definitions, as text. */
  readonly fixed: string;
  /** Tokens of the budget that are left for the conversation. */
  left(): number;
  progress(data: JsonObject): Promise<void>;
  /** Tracks started writes, which are durable before the next model call. */
  track(...writes: readonly Promise<unknown>[]): void;
  /** Calls the model without tools, outside the conversation's steps. Throws as `callModel` does. */
  ask(sent: SentInput, maxOutputTokens: number): Promise<string>;
}

/** The input of one model call. */
export type SentInput = Pick<ModelCallRequest, 'messages' | 'inputTokens'> &
  Required<Pick<ModelCallRequest, 'outputRoom' | 'windowTokens'>>;
