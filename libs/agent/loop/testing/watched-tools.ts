import { test as declare, type TestContext } from 'node:test';
import { defineTool, type Tool, type ToolCall } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { scriptedAgent } from './scripted-run.ts';
import { type ChatRequest, type Reply, say } from './scripted-server.ts';

/** Declares a test with a deadline, since calls that do not run at the same time wait for each other for ever. */
export const test = (name: string, run: (t: TestContext) => Promise<void>): void =>
  void declare(name, { timeout: 120_000 }, run);

/** The tool results in a request. */
export const results = ({ messages }: ChatRequest): string[] =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));

export interface Running {
  /** Names of calls that began and ended, in this order. */
  readonly log: string[];
  /** Resolves when so many calls run. */
  reached(count: number): Promise<void>;
}

/** Tools whose calls end when a test says so. */
export function watched(act: (name: string, call: ToolCall, running: Running) => Promise<string>) {
  const log: string[] = [];
  let running = 0;
  let waiting: { count: number; resolve: () => void }[] = [];
  const state: Running = {
    log,
    reached(count) {
      if (running >= count) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ count, resolve });
      return promise;
    },
  };
  const make = (
    name: string,
    rest: { mutates: boolean; repeatable?: boolean; isConcurrent?: boolean },
  ): Tool =>
    defineTool({
      name,
      description: name,
      inputSchema: z.strictObject({ name: z.string() }),
      ...rest,
      async run({ name: called }, call) {
        log.push(`+${called}`);
        running += 1;
        for (const { count, resolve } of waiting) if (running >= count) resolve();
        waiting = waiting.filter(({ count }) => running < count);
        try {
          return { ok: true, output: await act(called, call, state), detail: called };
        } finally {
          running -= 1;
          log.push(`-${called}`);
        }
      },
    });
  const tools = [
    make('probe_read', { mutates: false }),
    make('probe_write', { mutates: true }),
    make('probe_send', { mutates: true, repeatable: true, isConcurrent: true }),
  ];
  return { log, sources: [async () => tools] };
}

/** Calls of the tools by the first letters of their names: read, write, or send. */
export const calls = (...names: string[]): [string, object][] =>
  names.map((name) => [`probe_${name[0] === 'r' ? 'read' : name[0] === 'w' ? 'write' : 'send'}`, { name }]);

/** An agent with these tools, whose model gives these answers. */
export const scripted = (
  t: TestContext,
  steps: readonly Reply[],
  tools: ReturnType<typeof watched>,
  window = 200_000,
) =>
  scriptedAgent(
    t,
    (_, { messages }) => steps[messages.filter(({ role }) => role === 'assistant').length] ?? say('Done.'),
    { context_window: window },
    { sources: tools.sources },
  );

/** Rejects with the signal's reason. */
export const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
