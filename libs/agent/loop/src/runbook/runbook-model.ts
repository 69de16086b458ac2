import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import type { JsonValue } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import { z } from 'zod';
import { filesToVerify, followUpKind } from '../messages/follow-up-prompts.ts';
import { NOT_RUN } from '../messages/history.ts';
import { JSON_REPLY } from '../messages/reply.ts';
import { REVIEW_ROLE } from '../messages/review-prompt.ts';
import { OUTCOME_UNKNOWN, readTask } from '../messages/task-message.ts';
import { type Decision, decide, decideReview, type RunbookConversation } from './decide.ts';
import { field, type PastCall } from './report.ts';

/**
 * `offline/runbook`: a language model without a network that carries out what a brief spells out
 * (docs/agent.md#offline-runbook). It is deterministic and stateless, and counts its usage with the tokenizer.
 */
export function createRunbookModel(): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId: 'runbook',
    supportedUrls: {},
    doGenerate: generate,
    async doStream(options) {
      const result = await generate(options);
      return { stream: ReadableStream.from(streamParts(result)) };
    },
  };
}

async function generate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
  options.abortSignal?.throwIfAborted();
  const { content, finish } = answer(options);
  const input = await countTokens(JSON.stringify([options.prompt, options.tools ?? []]));
  const output = await countTokens(
    JSON.stringify(content.map((part) => ('text' in part ? part.text : part))),
  );
  options.abortSignal?.throwIfAborted();
  const limit = options.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const fits = output <= limit;
  const spent = fits ? output : limit;
  return {
    content: fits ? content : [{ type: 'text', text: 'Cut at the output limit.' }],
    finishReason: { unified: fits ? finish : 'length', raw: undefined },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: spent, text: spent, reasoning: 0 },
    },
    warnings: [],
  };
}

function answer(options: LanguageModelV4CallOptions): {
  content: LanguageModelV4Content[];
  finish: 'stop' | 'tool-calls';
} {
  const tools = options.toolChoice?.type === 'none' ? [] : (options.tools ?? []);
  const past = pastCalls(options.prompt);
  const decision = decisionOf(options.prompt, past, new Set(tools.map(({ name }) => name)));
  if (decision.kind === 'finish') return { content: [{ type: 'text', text: decision.text }], finish: 'stop' };
  const content = decision.calls.map(
    ({ tool, input }, index): LanguageModelV4Content => ({
      type: 'tool-call',
      toolCallId: `runbook-${past.length + index + 1}`,
      toolName: tool,
      input: JSON.stringify(input),
    }),
  );
  return { content, finish: 'tool-calls' };
}

function decisionOf(
  prompt: LanguageModelV4Prompt,
  past: readonly PastCall[],
  tools: ReadonlySet<string>,
): Decision {
  const instructions = prompt.map((message) => (message.role === 'system' ? message.content : '')).join('\n');
  const request = userText(prompt.find(({ role }) => role === 'user'));
  if (instructions.startsWith(REVIEW_ROLE)) return decideReview({ request, past, tools });
  const json = instructions.includes(JSON_REPLY);
  return decide({ brief: readTask(request), past, tools, json, followUp: lastFollowUp(prompt) });
}

function lastFollowUp(prompt: LanguageModelV4Prompt): RunbookConversation['followUp'] {
  const index = prompt.findLastIndex(({ role }) => role === 'user');
  const message = userText(prompt[index]);
  const kind = followUpKind(message);
  if (kind === undefined) return undefined;
  return { kind, since: pastCalls(prompt.slice(0, index)).length, files: filesToVerify(message) };
}

function userText(message: LanguageModelV4Prompt[number] | undefined): string {
  if (message?.role !== 'user') return '';
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The calls with a result, in the order of the calls. */
function pastCalls(prompt: LanguageModelV4Prompt): PastCall[] {
  const results = new Map<string, LanguageModelV4ToolResultOutput>();
  for (const message of prompt) {
    if (message.role !== 'tool') continue;
    for (const part of message.content)
      if (part.type === 'tool-result') results.set(part.toolCallId, part.output);
  }
  return prompt.flatMap((message) => {
    if (message.role !== 'assistant') return [];
    return message.content.flatMap((part) => {
      const output = part.type === 'tool-call' ? results.get(part.toolCallId) : undefined;
      if (part.type !== 'tool-call' || output === undefined) return [];
      return [pastCall(part.toolName, toJson(part.input), output)];
    });
  });
}

function pastCall(tool: string, input: JsonValue, output: LanguageModelV4ToolResultOutput): PastCall {
  const ok = output.type === 'text' || output.type === 'json';
  const value = 'value' in output ? toJson(output.value) : null;
  if (ok && isIncomplete(tool, value)) return { tool, input, output: value, outcome: 'failed' };
  return { tool, input, output: value, outcome: ok ? 'ok' : failure(value) };
}

/** Tools that return another agent's result, and the status that means done. */
const DELEGATED_DONE: Readonly<Record<string, string>> = { fleet_send: 'done', delegate: 'finished' };

/** True when the call succeeded but the other agent did not complete the work. */
const isIncomplete = (tool: string, output: JsonValue): boolean => {
  const status = Object.hasOwn(DELEGATED_DONE, tool) ? field(output, 'status') : undefined;
  return status !== undefined && status !== DELEGATED_DONE[tool];
};

function failure(value: JsonValue): PastCall['outcome'] {
  if (typeof value !== 'string') return 'failed';
  if (value.startsWith(OUTCOME_UNKNOWN)) return 'unknown';
  return value === NOT_RUN ? 'not_run' : 'failed';
}

const toJson = (value: unknown): JsonValue => z.json().catch(null).parse(value);

async function* streamParts(
  result: LanguageModelV4GenerateResult,
): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: result.warnings };
  for (const part of result.content) {
    if (part.type === 'tool-call') yield part;
    if (part.type !== 'text') continue;
    yield { type: 'text-start', id: 'text' };
    for (const delta of part.text.split(/(?<=\n)/)) yield { type: 'text-delta', id: 'text', delta };
    yield { type: 'text-end', id: 'text' };
  }
  yield { type: 'finish', usage: result.usage, finishReason: result.finishReason };
}
