import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { type AgentConfigSchema, loopExecutor } from '@hermes-fleet/loop';
import type {
  Call,
  ExecutorUnderTest,
  Fixture,
  FixtureOptions,
  ModelRequest,
  Script,
  Turn,
} from '@hermes-fleet/loop/testing';
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
} from '@hermes-fleet/loop/testing';
import { SECRET } from '@hermes-fleet/workspace/testing';
import type { z } from 'zod';
import { claudeCode } from '../src/index.ts';
import { nameInClaude } from '../src/native-tools.ts';

const CHARS_PER_TOKEN = 4;
const OUTPUT_TOKENS = 20;

/** The folder of a fleet that has the optional SDK; deploy/claude-sdk.sh installs it. */
const SDK_HOME = resolve(import.meta.dirname, '../../../../.cache/claude-sdk');
const hasSdk = existsSync(join(SDK_HOME, 'packages/node_modules/@anthropic-ai/claude-agent-sdk'));
const NO_SDK =
  'the optional package @anthropic-ai/claude-agent-sdk is missing: deploy/claude-sdk.sh installs it';

/** The reason to skip tests that need Claude Code, or false. */
export const claudeUnavailable: string | false = hasSdk ? false : NO_SDK;

const KEYS: Readonly<Record<string, string>> = {
  MODEL_KEY: SECRET,
  ANTHROPIC_API_KEY: SECRET,
  HERMES_HOME: SDK_HOME,
};
/** An environment with model keys and the SDK. */
export const keyedEnv = { read: (name: string): string | undefined => KEYS[name] };

export const EXECUTORS_UNDER_TEST: readonly ExecutorUnderTest[] = [
  {
    name: 'loop with openai-compatible',
    unavailable: false,
    model: 'scripted',
    callTokens: 1500,
    async setUp(t, script, options = {}) {
      const requests: ModelRequest[] = [];
      const server = await scriptedServer(t, (call, request) => {
        const seen = chatRequest(request);
        requests.push(seen);
        return chatReply(script(call, seen), seen);
      });
      const model = { model: 'openai-compatible/m', base_url: server.url, api_key_env: 'MODEL_KEY' };
      return createFixture(t, model, requests, options);
    },
  },
  {
    name: 'loop with anthropic',
    unavailable: false,
    model: 'scripted',
    callTokens: 1500,
    setUp: (t, script, options = {}) => onAnthropic(t, script, 'loop', options),
  },
  {
    name: 'claude-code',
    unavailable: claudeUnavailable,
    model: 'scripted',
    callTokens: 6000,
    setUp: (t, script, options = {}) => onAnthropic(t, script, 'claude-code', options),
  },
  {
    name: 'loop with offline/runbook',
    unavailable: false,
    model: 'runbook',
    callTokens: 1500,
    setUp: (t, _script, options = {}) => createFixture(t, { model: 'offline/runbook' }, [], options),
  },
  {
    name: 'echo',
    unavailable: false,
    model: 'none',
    callTokens: 0,
    setUp: (t, _script, options = {}) => createFixture(t, {}, [], options, { responseHandler: 'echo' }),
  },
];

async function createFixture(
  t: TestContext,
  model: z.input<typeof AgentConfigSchema>,
  requests: readonly ModelRequest[],
  { config, ...options }: FixtureOptions,
  more: { responseHandler?: 'echo' } = {},
): Promise<Fixture> {
  const guards: string[] = [];
  const onGuard = (guard: string, level: string): void => void guards.push(`${guard} ${level}`);
  const agent = await makeAgent(
    t,
    { ...config, ...model },
    {
      ...options,
      ...more,
      real: true,
      executor: model.executor === 'claude-code' ? claudeCode : loopExecutor,
      env: keyedEnv,
      onGuard,
    },
  );
  return { agent, requests, guards };
}

async function onAnthropic(
  t: TestContext,
  script: Script,
  executor: 'loop' | 'claude-code',
  options: FixtureOptions,
): Promise<Fixture> {
  const requests: ModelRequest[] = [];
  const server = await anthropicServer(t, (call, request): AnthropicReply => {
    const { system, user } = textsOf(request);
    const seen: ModelRequest = {
      system,
      users: user,
      raw: JSON.stringify(request),
      results: resultsOf(request).map(({ text }) => text),
      tools: request.tools?.map(({ name }) => name) ?? [],
    };
    requests.push(seen);
    // Requests of helpers and of the review do not offer Claude Code's own tools.
    const inClaude = executor === 'claude-code' && seen.tools.includes(nameInClaude('read_file'));
    return anthropicReply(script(call, seen), seen, inClaude);
  });
  const model = { model: 'anthropic/claude-sonnet-4-5', base_url: server.url, executor };
  return createFixture(t, model, requests, options);
}

const usageOf = (turn: Turn, { raw }: ModelRequest): { input: number; output: number } => ({
  input: Math.ceil(raw.length / CHARS_PER_TOKEN),
  output: turn.output ?? OUTPUT_TOKENS,
});

function anthropicReply(turn: Turn, request: ModelRequest, inClaude: boolean): AnthropicReply {
  if (turn.refused !== undefined) {
    const headers = { 'retry-after': '0', 'retry-after-ms': '1' };
    return { status: turn.refused, type: 'some_error', message: `wrong key ${SECRET}`, headers };
  }
  const { input, output } = usageOf(turn, request);
  return {
    ...(turn.text !== undefined && { text: turn.text }),
    calls: (turn.calls ?? []).map((call) => (inClaude ? callInClaude(call) : call)),
    usage: { input_tokens: input, output_tokens: output },
    ...(turn.hang && { hang: true }),
    ...(turn.cutOff && { stop: 'max_tokens' }),
  };
}

/** Translates a call to Claude Code's own tool. */
function callInClaude([tool, input]: Call): Call {
  const { path: file_path, old_text: old_string, new_text: new_string, ...rest } = input;
  const inputs: Readonly<Record<string, { readonly [key: string]: unknown }>> = {
    read_file: { file_path, ...rest },
    write_file: { file_path, ...rest },
    edit_file: { file_path, old_string, new_string, ...rest },
  };
  return [nameInClaude(tool), inputs[tool] ?? input];
}

function chatReply(turn: Turn, request: ModelRequest): Reply {
  if (turn.refused !== undefined)
    return { status: turn.refused, body: `{"error":{"message":"wrong key ${SECRET}"}}` };
  const words = turn.text === undefined ? [] : [{ content: turn.text }];
  const calls = (turn.calls ?? []).map(([name, input], index) => ({
    tool_calls: [{ index, type: 'function' as const, function: { name, arguments: JSON.stringify(input) } }],
  }));
  const deltas = [...words, ...calls];
  if (turn.hang) return { hang: true, deltas };
  const { input, output } = usageOf(turn, request);
  const finish = turn.cutOff ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop';
  return { deltas, finish, usage: { prompt_tokens: input, completion_tokens: output } };
}

function chatRequest(request: ChatRequest): ModelRequest {
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
