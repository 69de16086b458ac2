import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type { EarlierConversation, MessagePart, RunEvent, RunOutcome } from '@hermes-fleet/protocol/ports';
import type { z } from 'zod';
import type { AgentConfigSchema } from '../src/config/config-yaml.ts';
import { REVIEW_ROLE } from '../src/messages/review-prompt.ts';
import { makeAgent, makeContext, makeTask, type TestAgentOptions, type TestRun } from './harness.ts';
import { type ChatRequest, env, KEYED, type Reply, scriptedServer } from './scripted-server.ts';

export interface ScriptedRun {
  readonly result: RunOutcome;
  readonly context: TestRun;
  /** The model requests of this run. */
  readonly requests: readonly ChatRequest[];
  readonly guards: readonly string[];
  /** The provider's input divided by our estimate, for each metered call. */
  readonly ratios: readonly number[];
}

export type ScriptedAgent = (o?: {
  brief?: string;
  task?: Partial<TaskDispatch['task']>;
  limit?: number;
  checkpoint?: JsonObject;
  earlier?: EarlierConversation;
  contextId?: string;
  parts?: readonly MessagePart[];
  /** In ms since the epoch. */
  deadlineAt?: number;
  onSave?: (count: number, context: TestRun) => void;
  onProgress?: (context: TestRun) => void;
  onEvent?: (event: RunEvent, context: TestRun) => unknown;
}) => Promise<ScriptedRun>;

/** The answers in turn, of which the last is repeated; or what answers each request. */
export type Script = readonly Reply[] | ((turn: number, request: ChatRequest) => Reply);

/** An agent whose model follows a script; runs one task after the other. */
export async function scriptedAgent(
  t: TestContext,
  script: Script,
  config: z.input<typeof AgentConfigSchema> = {},
  options: TestAgentOptions = {},
): Promise<ScriptedAgent> {
  const guards: string[] = [];
  const ratios: number[] = [];
  const server = await scriptedServer(
    t,
    typeof script === 'function'
      ? script
      : (turn) => script[turn - 1] ?? script.at(-1) ?? assert.fail('no answer'),
  );
  const agent = await makeAgent(
    t,
    { ...KEYED, base_url: server.url, ...config },
    {
      env,
      onGuard: (guard, level) => guards.push(`${guard} ${level}`),
      onTokenDrift: (ratio) => ratios.push(ratio),
      ...options,
    },
  );
  return async ({
    brief = 'Write many files.',
    task = {},
    contextId,
    parts = [],
    deadlineAt,
    onSave,
    onProgress,
    onEvent,
    ...rest
  } = {}) => {
    const before = { requests: server.requests.length, guards: guards.length, ratios: ratios.length };
    const context: TestRun = makeContext({
      ...rest,
      onSave: (count) => onSave?.(count, context),
      onEvent: (event) => {
        if (event.type === 'progress') onProgress?.(context);
        onEvent?.(event, context);
      },
    });
    const place = contextId === undefined ? {} : { contextId };
    const result = await agent.executor.run(
      { ...makeTask(brief, { task, parts, ...place }), deadlineAt },
      context,
    );
    return {
      result,
      context,
      requests: server.requests.slice(before.requests),
      guards: guards.slice(before.guards),
      ratios: ratios.slice(before.ratios),
    };
  };
}

const contentOf = (message: ChatRequest['messages'][number] | undefined): string =>
  typeof message?.content === 'string' ? message.content : JSON.stringify(message?.content ?? '');

/** True for a request of a review. */
export const isReview = ({ messages }: ChatRequest): boolean =>
  contentOf(messages[0]).startsWith(REVIEW_ROLE);

/** The user messages in a request. */
export const userTexts = ({ messages }: ChatRequest): string[] =>
  messages.filter(({ role }) => role === 'user').map(contentOf);

/** The number of steps since the last user message. */
export function stepsSinceAsked({ messages }: ChatRequest): number {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  return messages.slice(asked).filter(({ role }) => role === 'assistant').length;
}
