import type { TestContext } from 'node:test';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import { z } from 'zod';
import { followUpKind } from '../src/messages/follow-up-prompts.ts';
import { asked, type ChatRequest, type Reply, say, scriptedServer, use } from './scripted-server.ts';

/** One step of a scripted model: calls, or its last words. */
export type ModelStep = readonly [tool: string, input: object][] | string;

export interface WindowModel {
  readonly url: string;
  /** The requests of steps, in order; those for a summary are in `summaryRequests`. */
  readonly stepRequests: ChatRequest[];
  readonly summaryRequests: ChatRequest[];
  /** The requests that it refused as too long. */
  readonly refused: ChatRequest[];
  /** The tokens that it metered. */
  readonly billed: { readonly input: number; readonly output: number };
  /** The largest request, with the room that it asks for the answer. In tokens. */
  readonly largest: () => number;
}

const Message = z.looseObject({
  role: z.string(),
  content: z.unknown(),
  tool_call_id: z.string().optional(),
  tool_calls: z
    .array(z.object({ function: z.object({ name: z.string(), arguments: z.string() }) }))
    .optional(),
});

/** The tokens of a request, as a server counts them that renders its messages and tools as text. */
export async function requestTokens({ messages, tools = [] }: ChatRequest): Promise<number> {
  const texts = messages.map((message) => {
    const { content, tool_calls: calls = [] } = Message.parse(message);
    const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
    return [text, ...calls.map(({ function: { name, arguments: args } }) => `${name}${args}`)].join('');
  });
  let sum = await counted(JSON.stringify(tools));
  for (const text of texts) sum += 4 + (await counted(text));
  return sum;
}

const counts = new Map<string, Promise<number>>();

/** Counts each text once: a conversation sends the same messages at every step. */
function counted(text: string): Promise<number> {
  const count = counts.get(text) ?? countTokens(text);
  counts.set(text, count);
  return count;
}

/** The text of the first summary that a request contains. */
export const summaryIn = (request: ChatRequest): string | undefined =>
  /<summary>\\n(.*?)\\n<\/summary>/.exec(JSON.stringify(request.messages))?.[1];

/**
 * A model on loopback with a real context window: it counts each request, meters it, and refuses as vLLM does what does
 * not fit together with the answer. It takes the step after the newest call in the conversation, so it goes on after a
 * restart, and answers each request for a summary with another text. `before` runs before each answer.
 */
export async function windowModel(
  t: TestContext,
  options: {
    readonly window: number;
    readonly step: (step: number, request: ChatRequest) => ModelStep;
    readonly summary?: (count: number, request: ChatRequest) => Reply;
    /** The reply instead of a step; undefined: the step. */
    readonly fails?: (step: number) => Reply | undefined;
    readonly before?: (kind: 'step' | 'summary', request: ChatRequest) => Promise<void>;
  },
): Promise<WindowModel> {
  const stepRequests: ChatRequest[] = [];
  const summaryRequests: ChatRequest[] = [];
  const refused: ChatRequest[] = [];
  const billed = { input: 0, output: 0 };
  let largest = 0;

  const server = await scriptedServer(t, async (_, request) => {
    const input = await requestTokens(request);
    const total = input + request.max_tokens;
    if (total > options.window) {
      refused.push(request);
      const message = `This model's maximum context length is ${options.window} tokens. However, you requested ${total} tokens (${input} in the messages, ${request.max_tokens} in the completion).`;
      return { status: 400, body: JSON.stringify({ error: { message, code: 'context_length_exceeded' } }) };
    }
    largest = Math.max(largest, total);
    const metered = (output: unknown) => {
      const tokens = 30 + Math.ceil(JSON.stringify(output).length / 4);
      billed.input += input;
      billed.output += tokens;
      return { prompt_tokens: input, completion_tokens: tokens, total_tokens: input + tokens };
    };
    const isSummary = followUpKind(asked(request)) === 'summarize';
    const failure = isSummary ? undefined : options.fails?.(newestStep(request) + 1);
    if (failure !== undefined) return failure;
    (isSummary ? summaryRequests : stepRequests).push(request);
    await options.before?.(isSummary ? 'summary' : 'step', request);
    if (isSummary) {
      const count = summaryRequests.length;
      const text = `## Goal\nSummary number ${count}.`;
      return options.summary?.(count, request) ?? say(text, metered(text));
    }
    const number = newestStep(request) + 1;
    const step = options.step(number, request);
    if (typeof step === 'string') return say(step, metered(step));
    const reply = use([...step], metered(step));
    if (!('finish' in reply)) return reply;
    const withIds = reply.deltas.map((delta) => ({
      ...delta,
      tool_calls: delta.tool_calls?.map((call) => ({ ...call, id: `s${number}x${call.index}` })) ?? [],
    }));
    return { ...reply, deltas: withIds };
  });
  return { url: server.url, stepRequests, summaryRequests, refused, billed, largest: () => largest };
}

/** The number of the newest step whose calls are in a request; 0 for none. */
export function newestStep({ messages }: ChatRequest): number {
  const steps = messages.map((message) => /^s(\d+)x/.exec(Message.parse(message).tool_call_id ?? '')?.[1]);
  return Number(steps.findLast((step) => step !== undefined) ?? 0);
}
