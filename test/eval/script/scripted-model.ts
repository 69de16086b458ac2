import { type ChatRequest, type Reply, say, scriptedServer, use } from '@hermes-fleet/loop/testing';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import { createRequestCounter, textOf } from './count-request.ts';
import { failureProblems } from './failure-problems.ts';
import type { Script, Step } from './script.ts';

export interface ScriptedModel extends AsyncDisposable {
  /** The base URL of its API. */
  readonly url: string;
  /** What did not go as the script says since the last call, when turn `turn` (from 0) has ended with these events. */
  problemsOf(turn: number, events: readonly RunEvent[]): string[];
}

export const MODEL_NAME = 'openai-compatible/scripted';
const DEFAULT_WINDOW = 131_072;
const SHOWN_CHARS = 200;

const SUMMARY = `Goal: the task, as it is stated above.
Decisions: none but those that the task names.
State of the work: everything that was called so far has been carried out.
Open points: the part of the task that has not been carried out yet.
Files touched: those that the calls so far name.`;

const REVIEW = /independent check/;
const APPROVAL = 'Looks right.\n```review\n{"verdict":"ok","objections":[]}\n```';

interface ScriptedModelOptions {
  readonly script: Script;
  /** The message that begins each turn. */
  readonly messages: readonly string[];
  /** The context window in tokens. A longer request is refused, as vLLM does. */
  readonly window?: number | undefined;
}

interface Conversation {
  readonly name: string;
  readonly steps: readonly Step[];
}

/**
 * Starts an OpenAI-compatible server on loopback that plays a script: each request of a conversation gets its next answer.
 * Prompts that the loop adds without tools, for a summary, a wrap-up, a repair or a review, get a fixed answer.
 */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const { script, messages, window = DEFAULT_WINDOW } = options;
  const closers: (() => void)[] = [];
  const inputTokens = createRequestCounter();
  /** The number of answers given, by the name of the conversation. */
  const played = new Map<string, number>();
  const recent: Step[] = [];
  let problems: string[] = [];

  const conversations: Conversation[] = [
    ...script.turns.map((steps, turn) => ({ name: nameOf(turn), steps })),
    ...Object.entries(script.delegated ?? {}).map(([brief, steps]) => ({ name: `"${brief}"`, steps })),
  ];

  function conversationOf(request: ChatRequest): Conversation | undefined {
    const asked = request.messages.filter(({ role }) => role === 'user').map(textOf);
    const briefs = Object.keys(script.delegated ?? {});
    const brief = briefs.find((text) => asked[0]?.includes(text) && !asked[0].includes(messages[0] ?? ''));
    const turn = messages.findLastIndex((message) => asked.some((text) => text.includes(message)));
    const name = brief === undefined ? nameOf(turn) : `"${brief}"`;
    return conversations.find((one) => one.name === name);
  }

  function next(request: ChatRequest): Step {
    const conversation = conversationOf(request);
    if (conversation === undefined) {
      problems.push(`a request belongs to no turn of the script: ${shown(request)}`);
      return { text: 'There is no script for this.' };
    }
    const { name, steps } = conversation;
    const at = played.get(name) ?? 0;
    const step = steps[at];
    if (step === undefined) {
      if (request.messages.at(-1)?.role === 'tool')
        problems.push(`the script of ${name} has only ${steps.length} steps: ${shown(request)}`);
      return { text: lastText(steps) };
    }
    played.set(name, at + 1);
    recent.push(step);
    const offered = (request.tools ?? []).map((tool) => tool.function.name);
    for (const { tool } of step.calls ?? [])
      if (!offered.includes(tool))
        problems.push(
          `step ${at + 1} of ${name} calls ${tool}, which is not offered; there are ${offered.join(', ')}`,
        );
    const seen = request.messages.map(textOf).join('\n');
    for (const pattern of step.sees ?? [])
      if (!pattern.test(seen)) problems.push(`step ${at + 1} of ${name}: no message matches ${pattern}`);
    return step;
  }

  /** The answer to a prompt that is sent without tools. */
  function closing(request: ChatRequest): Step {
    if (/summari[sz]e/i.test(textOf(request.messages.at(-1)))) return { text: SUMMARY };
    const { name, steps } = conversationOf(request) ?? { name: '', steps: [] };
    const left = steps.length - (played.get(name) ?? 0);
    if (left === 0) return { text: lastText(steps) };
    const outcome = { status: 'partial', remaining: [`${left} steps of the script`] };
    return { text: `I stop here.\n\n\`\`\`outcome\n${JSON.stringify(outcome)}\n\`\`\`` };
  }

  async function answer(_: number, request: ChatRequest): Promise<Reply> {
    const prompt = await inputTokens(request);
    if (prompt + request.max_tokens > window) {
      problems.push(`a request has ${prompt} tokens and asks for ${request.max_tokens}, of ${window}`);
      return { status: 400, body: JSON.stringify(tooLong(window, prompt, request.max_tokens)) };
    }
    const isReview = REVIEW.test(textOf(request.messages[0]));
    const hasTools = (request.tools ?? []).length > 0 && request.tool_choice !== 'none';
    const step = isReview ? { text: APPROVAL } : hasTools ? next(request) : closing(request);
    const output = await countTokens(`${step.text ?? ''}${JSON.stringify(step.calls ?? [])}`);
    return replyOf(step, {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
    });
  }

  const models = {
    object: 'list',
    data: [{ id: 'scripted', object: 'model', owned_by: 'test', max_model_len: window }],
  };
  const { url } = await scriptedServer({ after: (close) => closers.push(close) }, answer, models);
  return {
    url,
    problemsOf(turn, events) {
      const due = conversations.filter(({ name }) => name === nameOf(turn) || name.startsWith('"'));
      const isLast = turn === script.turns.length - 1;
      const unplayed = due.flatMap(({ name, steps }) => {
        const left = steps.length - (played.get(name) ?? 0);
        return left > 0 && (isLast || name === nameOf(turn))
          ? [`${left} steps of ${name} were not played`]
          : [];
      });
      const found = [...problems, ...failureProblems(recent, events), ...unplayed];
      problems = [];
      recent.length = 0;
      return found;
    },
    async [Symbol.asyncDispose]() {
      for (const close of closers) close();
    },
  };
}

const nameOf = (turn: number): string => `turn ${turn + 1}`;

const lastText = (steps: readonly Step[]): string =>
  steps.findLast(({ text }) => text !== undefined)?.text ?? 'The script has no text.';

const shown = ({ messages }: ChatRequest): string => {
  const last = messages.at(-1);
  return `${last?.role}: ${JSON.stringify(textOf(last).slice(0, SHOWN_CHARS))}`;
};

function replyOf({ text, calls = [], cutAfter }: Step, usage: object): Reply {
  if (cutAfter !== undefined) {
    const [one] = calls;
    const args = JSON.stringify(one?.input ?? {}).slice(0, cutAfter);
    const cut = { index: 0, type: 'function', function: { name: one?.tool ?? '', arguments: args } } as const;
    return { deltas: [{ tool_calls: [cut] }], finish: 'length', usage };
  }
  if (calls.length === 0) return say(text ?? '', usage);
  const called = use(
    calls.map(({ tool, input }) => [tool, input] as const),
    usage,
  );
  if (text === undefined || !('deltas' in called)) return called;
  return { ...called, deltas: [{ content: text }, ...called.deltas] };
}

/** The error of vLLM for a request that is longer than its `max_model_len`. */
const tooLong = (window: number, prompt: number, output: number): object => ({
  object: 'error',
  message:
    `This model's maximum context length is ${window} tokens. However, you requested ${prompt + output} tokens ` +
    `(${prompt} in the messages, ${output} in the completion). Please reduce the length of the messages or completion.`,
  type: 'BadRequestError',
  param: null,
  code: 400,
});
