import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import type { AgentConfigSchema } from '@hermes-fleet/agent';
import type { Asked, Bench, BenchOptions, Call, Script, Subject, Turn } from '@hermes-fleet/agent/testing';
import {
  type AnthropicReply,
  anthropicServer,
  type ChatRequest,
  makeAgent,
  type Reply,
  resultsOf,
  scriptedServer,
  textOf,
  textsOf,
} from '@hermes-fleet/agent/testing';
import { SECRET } from '@hermes-fleet/workspace/testing';
import type { z } from 'zod';
import { claudeCode } from '../index.ts';
import { nameInClaude } from '../native-tools.ts';

const CHARS_PER_TOKEN = 4;
const OUTPUT_TOKENS = 20;

/** Where the optional SDK of Claude Code is for tests: where CLAUDE_AGENT_SDK_DIR says, else in the cache of the checkout. */
function sdkFolder(): string {
  const cached = resolve(import.meta.dirname, '../../../../.cache/claude-sdk');
  return process.env.CLAUDE_AGENT_SDK_DIR || cached;
}

const hasSdk = existsSync(join(sdkFolder(), 'node_modules/@anthropic-ai/claude-agent-sdk/package.json'));
const NO_SDK =
  'the optional package @anthropic-ai/claude-agent-sdk is not there: name its folder in CLAUDE_AGENT_SDK_DIR';

/** Why tests that need Claude Code cannot run here, or false. */
export const claudeAbsent: string | false = hasSdk ? false : NO_SDK;

const KEYS: Readonly<Record<string, string>> = {
  MODEL_KEY: SECRET,
  ANTHROPIC_API_KEY: SECRET,
  CLAUDE_AGENT_SDK_DIR: sdkFolder(),
};
/** With a model's key, and where Claude Code is. */
export const keyedEnv = { read: (name: string): string | undefined => KEYS[name] };

export const SUBJECTS: readonly Subject[] = [
  {
    name: 'loop with openai-compatible',
    absent: false,
    model: 'scripted',
    callTokens: 1500,
    async bench(t, script, o = {}) {
      const asked: Asked[] = [];
      const server = await scriptedServer(t, (call, request) => {
        const seen = askedInChat(request);
        asked.push(seen);
        return chatReply(script(call, seen), seen);
      });
      const model = { model: 'openai-compatible/m', base_url: server.url, api_key_env: 'MODEL_KEY' };
      return bench(t, model, asked, o);
    },
  },
  {
    name: 'loop with anthropic',
    absent: false,
    model: 'scripted',
    callTokens: 1500,
    bench: (t, script, o = {}) => onAnthropic(t, script, 'loop', o),
  },
  {
    name: 'claude-code',
    absent: claudeAbsent,
    model: 'scripted',
    callTokens: 6000,
    bench: (t, script, o = {}) => onAnthropic(t, script, 'claude-code', o),
  },
  {
    name: 'loop with offline/runbook',
    absent: false,
    model: 'runbook',
    callTokens: 1500,
    bench: (t, _script, o = {}) => bench(t, { model: 'offline/runbook' }, [], o),
  },
  {
    name: 'echo',
    absent: false,
    model: 'none',
    callTokens: 0,
    bench: (t, _script, o = {}) => bench(t, {}, [], o, { responseHandler: 'echo' }),
  },
];

async function bench(
  t: TestContext,
  model: z.input<typeof AgentConfigSchema>,
  asked: readonly Asked[],
  { config, ...o }: BenchOptions,
  more: { responseHandler?: 'echo' } = {},
): Promise<Bench> {
  const guards: string[] = [];
  const onGuard = (guard: string, level: string): void => void guards.push(`${guard} ${level}`);
  const agent = await makeAgent(
    t,
    { ...config, ...model },
    { ...o, ...more, claudeCode, env: keyedEnv, onGuard },
  );
  return { agent, asked, guards };
}

async function onAnthropic(
  t: TestContext,
  script: Script,
  executor: 'loop' | 'claude-code',
  o: BenchOptions,
): Promise<Bench> {
  const asked: Asked[] = [];
  const server = await anthropicServer(t, (call, request): AnthropicReply => {
    const { system, user } = textsOf(request);
    const seen: Asked = {
      system,
      users: user,
      raw: JSON.stringify(request),
      results: resultsOf(request).map(({ text }) => text),
      tools: request.tools?.map(({ name }) => name) ?? [],
    };
    asked.push(seen);
    // Its own helpers and the second check have no tools by Claude Code's names.
    const inClaude = executor === 'claude-code' && seen.tools.includes(nameInClaude('read_file'));
    return anthropicReply(script(call, seen), seen, inClaude);
  });
  return bench(t, { model: 'anthropic/claude-sonnet-4-5', base_url: server.url, executor }, asked, o);
}

const usageOf = (turn: Turn, { raw }: Asked): { input: number; output: number } => ({
  input: Math.ceil(raw.length / CHARS_PER_TOKEN),
  output: turn.output ?? OUTPUT_TOKENS,
});

function anthropicReply(turn: Turn, asked: Asked, inClaude: boolean): AnthropicReply {
  if (turn.refused !== undefined) {
    const headers = { 'retry-after': '0', 'retry-after-ms': '1' };
    return { status: turn.refused, type: 'some_error', message: 'because', headers };
  }
  const { input, output } = usageOf(turn, asked);
  return {
    ...(turn.text !== undefined && { text: turn.text }),
    calls: (turn.calls ?? []).map((call) => (inClaude ? callInClaude(call) : call)),
    usage: { input_tokens: input, output_tokens: output },
    ...(turn.hang && { hang: true }),
    ...(turn.cutOff && { stop: 'max_tokens' }),
  };
}

/** The inputs of Claude Code's own tools. */
function callInClaude([tool, input]: Call): Call {
  const { path: file_path, old_text: old_string, new_text: new_string, ...rest } = input;
  const inputs: Readonly<Record<string, { readonly [key: string]: unknown }>> = {
    read_file: { file_path, ...rest },
    write_file: { file_path, ...rest },
    edit_file: { file_path, old_string, new_string, ...rest },
  };
  return [nameInClaude(tool), inputs[tool] ?? input];
}

function chatReply(turn: Turn, asked: Asked): Reply {
  if (turn.refused !== undefined) return { status: turn.refused, body: '{"error":{"message":"because"}}' };
  const words = turn.text === undefined ? [] : [{ content: turn.text }];
  const calls = (turn.calls ?? []).map(([name, input], index) => ({
    tool_calls: [{ index, type: 'function' as const, function: { name, arguments: JSON.stringify(input) } }],
  }));
  const deltas = [...words, ...calls];
  if (turn.hang) return { hang: true, deltas };
  const { input, output } = usageOf(turn, asked);
  const finish = turn.cutOff ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop';
  return { deltas, finish, usage: { prompt_tokens: input, completion_tokens: output } };
}

function askedInChat(request: ChatRequest): Asked {
  const of = (wanted: string): string[] =>
    request.messages
      .filter(({ role }) => role === wanted)
      .map(({ content }) => (typeof content === 'string' ? content : textOf(blocks(content))));
  return {
    system: of('system').join('\n'),
    users: of('user'),
    results: of('tool'),
    tools: request.tools?.map((tool) => tool.function.name) ?? [],
    raw: JSON.stringify(request),
  };
}

const blocks = (content: unknown): { type: string; text?: string }[] =>
  Array.isArray(content) ? content : [];
