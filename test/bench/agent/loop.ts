import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { AgentConfigSchema, createAgent, loopExecutor } from '@hermes-fleet/loop';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { jsonSchema, type ModelMessage, streamText, tool } from 'ai';
import { ledgerRun, openTestLedger, startTask } from '../../support/ledger-run.ts';
import { chunkOf, listenAsModel, newTask, toolCall } from './agent-run.ts';

/** Size of each tool result, in characters. */
const FILE_CHARS = 2_000;

export interface LoopTimes {
  /** Time from the last byte of each model answer to the first byte of the next request, in ms. */
  readonly gaps: readonly number[];
  /** Duration of each tool call, which its gap includes, in ms. */
  readonly tools: readonly number[];
}

/** A clock with submillisecond resolution. */
const clock = { ...systemClock, now: () => performance.timeOrigin + performance.now() };

/**
 * Measures the time of each step outside the model, in ms. The task has `steps` steps, each of which reads a file of 2 kB;
 * everything is durable in a real ledger. The gaps include the tool, checkpoints, budget, guards and the model client.
 */
export async function loopOverhead(dir: string, steps: number): Promise<LoopTimes> {
  const root = join(dir, `loop-${randomUUID()}`);
  const model = await startInstantModel(steps);
  const ledger = openTestLedger(join(dir, `loop-${randomUUID()}.db`));
  const config = AgentConfigSchema.parse({
    model: 'openai-compatible/instant',
    base_url: model.url,
    context_window: 1_000_000,
    workspace: { path: makeRepository(root, steps) },
    limits: { max_steps: 1_000 },
    // No command runs, so the repository can belong to this user.
    tools: { shell: { confine: 'unconfined' } },
  });
  const agent = await createAgent({
    executor: loopExecutor,
    profile: { name: 'bench', tier: 'haiku' },
    config,
    place: { workspaceRoot: join(root, 'workspace'), stateDir: join(root, 'state') },
    runtime: { env: { read: () => undefined }, clock, ids: systemIds },
    observe: { log: silentLog },
  });
  try {
    const task = newTask('Read all files.');
    await startTask(ledger, task);
    const { context, events } = ledgerRun(ledger, task, {
      model: config.model,
      limit: undefined,
      signal: new AbortController().signal,
      ask: () => Promise.reject(new Error('there is no caller to ask')),
    });
    const { status, error } = await agent.executor.run(task, context);
    if (status !== 'done') throw new Error(`the task ended ${status}: ${error?.message ?? ''}`);
    const tools = events.flatMap((event) =>
      event.type === 'progress' && typeof event.data.duration_ms === 'number' ? [event.data.duration_ms] : [],
    );
    return { gaps: model.gaps, tools };
  } finally {
    await agent.close();
    await ledger.close();
    await model[Symbol.asyncDispose]();
  }
}

/**
 * Measures the share of the model client in each step, in ms: the same conversation with only the SDK, without
 * persistence, budget or guards. The loop overhead is what `loopOverhead` measures beyond it.
 */
export async function clientAlone(steps: number): Promise<number[]> {
  const model = await startInstantModel(steps);
  const provider = createOpenAICompatible({ name: 'bench', baseURL: model.url, includeUsage: true });
  const inputSchema = jsonSchema({ type: 'object', properties: { path: { type: 'string' } } });
  const messages: ModelMessage[] = [{ role: 'user', content: 'Read all files.' }];
  const value = 'to be read, and not to be repeated\n'.repeat(Math.ceil(FILE_CHARS / 35));
  try {
    for (let step = 0; step <= steps; step += 1) {
      const result = streamText({
        model: provider('instant'),
        messages,
        tools: { read_file: tool({ description: 'Reads a file.', inputSchema }) },
      });
      for await (const part of result.stream) if (part.type === 'error') throw part.error;
      messages.push(...(await result.responseMessages));
      const call = { toolCallId: `call-${step + 1}`, toolName: 'read_file' };
      messages.push({
        role: 'tool',
        content: [{ type: 'tool-result', ...call, output: { type: 'text', value } }],
      });
    }
    return model.gaps;
  } finally {
    await model[Symbol.asyncDispose]();
  }
}

/** A repository with one file per step, so that every step differs. */
function makeRepository(root: string, files: number): string {
  const path = join(root, 'repository');
  mkdirSync(path, { recursive: true });
  mkdirSync(join(root, 'state'), { mode: 0o700 });
  for (let file = 1; file <= files; file += 1) {
    writeFileSync(
      join(path, `${file}.txt`),
      `${file}\n`.padEnd(FILE_CHARS, 'to be read, and not to be repeated\n'),
    );
  }
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-C', path, '-c', 'user.name=b', '-c', 'user.email=b@localhost', ...args]);
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'Files');
  return path;
}

/** A model server that answers at once: it calls `read_file` in each of `steps` turns, then finishes. */
async function startInstantModel(steps: number) {
  const gaps: number[] = [];
  let turn = 0;
  let answeredAt: number | undefined;
  const server = await listenAsModel((request, response) => {
    if (answeredAt !== undefined) gaps.push(performance.now() - answeredAt);
    turn += 1;
    const [delta, finish_reason] =
      turn <= steps
        ? [toolCall(turn, 'read_file', { path: `${turn}.txt` }), 'tool_calls']
        : [{ content: 'Read.' }, 'stop'];
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const usage = {
        prompt_tokens: 1_000 + turn * 600,
        completion_tokens: 20,
        total_tokens: 1_020 + turn * 600,
      };
      const chunks = [
        { choices: [{ index: 0, delta }] },
        { choices: [{ index: 0, delta: {}, finish_reason }] },
        { choices: [], usage },
      ];
      response.end(`${chunks.map((chunk) => chunkOf(turn, chunk)).join('')}data: [DONE]\n\n`);
      answeredAt = performance.now();
    });
  });
  return { ...server, gaps };
}
