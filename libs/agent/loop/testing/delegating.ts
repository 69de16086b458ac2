import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask, RunOutcome, TokenStore } from '@hermes-fleet/protocol/ports';
import type { Place } from '@hermes-fleet/workspace/testing';
import { z } from 'zod';
import type { Agent } from '../src/agent.ts';
import { makeAgent, makeContext, makeTask, type TestRun } from './harness.ts';
import { stepsSinceAsked } from './scripted-run.ts';
import { type ChatRequest, env, KEYED, type Reply, say, scriptedServer, use } from './scripted-server.ts';

/** The answers of `main` and of the sub-agents, by name. They depend on the conversation alone. */
export type Scripts = Readonly<Record<string, (request: ChatRequest, turn: number) => Reply>>;

export interface DelegatingRun {
  readonly result: RunOutcome;
  readonly context: TestRun;
  /** The model requests of an agent in this run. */
  requests(agent: string): ChatRequest[];
  /** The results of the `delegate` calls, from the main agent's last request. */
  answers(): unknown[];
}

export interface Delegating {
  readonly agent: Agent & { readonly place: Place };
  run(o?: {
    brief?: string;
    task?: Partial<TaskDispatch['task']>;
    admitted?: Partial<AdmittedTask>;
    limit?: number;
    store?: TokenStore;
    checkpoint?: JsonObject;
    contextId?: string;
    onSave?: (count: number, context: TestRun) => void;
    onProgress?: (data: JsonObject, context: TestRun) => void;
  }): Promise<DelegatingRun>;
}

/** The agent that a request belongs to. */
export const agentOf = ({ messages }: ChatRequest): string =>
  /^You are (\S+), a sub-agent of /.exec(String(messages[0]?.content))?.[1] ?? 'main';

/** An agent whose model follows scripts, as does the model of its sub-agents. */
export async function delegating(
  t: TestContext,
  scripts: Scripts,
  config: Parameters<typeof makeAgent>[1] = {},
  options: Parameters<typeof makeAgent>[2] = {},
): Promise<Delegating> {
  const turns = new Map<string, number>();
  const server = await scriptedServer(t, (_, request) => {
    const name = agentOf(request);
    const turn = (turns.get(name) ?? 0) + 1;
    turns.set(name, turn);
    const script = scripts[name] ?? assert.fail(`no script for ${name}`);
    return script(request, turn);
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url, ...config }, { env, ...options });
  return {
    agent,
    async run({
      brief = 'Find it out.',
      task = {},
      admitted = {},
      contextId,
      onSave,
      onProgress,
      ...rest
    } = {}) {
      const before = server.requests.length;
      const context: TestRun = makeContext({
        ...rest,
        onSave: (count) => onSave?.(count, context),
        onEvent: (event) => event.type === 'progress' && onProgress?.(event.data, context),
      });
      const place = contextId === undefined ? {} : { contextId };
      const made = { ...makeTask(brief, { task, ...place }), ...admitted };
      const result = await agent.executor.run(made, context);
      const requests = (name: string): ChatRequest[] =>
        server.requests.slice(before).filter((request) => agentOf(request) === name);
      const told = (): unknown[] => toldOf(requests('main').at(-1));
      return { result, context, requests, answers: told };
    },
  };
}

const Told = z.array(z.looseObject({ role: z.string(), content: z.unknown() }));

/** The tool results in a request, parsed if they are JSON. */
export function toldOf(request: ChatRequest | undefined): unknown[] {
  return Told.parse(request?.messages ?? [])
    .filter(({ role }) => role === 'tool')
    .map(({ content }): unknown => {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    });
}

/** An answer that delegates work. */
export const hand = (agent: string, brief = 'Where is x?', token_budget?: number): Reply =>
  use([['delegate', { agent, brief, ...(token_budget ? { token_budget } : {}) }]]);

/** A script that delegates once, then finishes. */
export const handsOver =
  (...first: Parameters<typeof hand>) =>
  (request: ChatRequest): Reply =>
    stepsSinceAsked(request) === 0 ? hand(...first) : say('Done with it.');

/** True for the progress event at the start of a call. */
export const isStart = ({ tool, ok }: JsonObject): boolean => tool !== undefined && ok === undefined;

export const words = (count: number, word = 'fact'): string => Array(count).fill(word).join(' ');
