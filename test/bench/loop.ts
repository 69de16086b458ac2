import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { AgentConfigSchema, createAgent } from '@hermes-fleet/agent';
import { systemClock, systemIds } from '@hermes-fleet/protocol';
import { jsonSchema, type ModelMessage, streamText, tool } from 'ai';
import { ledgerRun, openTestLedger, startTask } from '../support/ledger-run.ts';
import { chunkOf, listenAsModel, newTask, toolCall } from './agent-run.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
/** What a step's tool brings into the conversation, in characters. */
const FILE_CHARS = 2_000;

export interface LoopTimes {
  /** From the last byte of each answer of the model to the first of the next request. */
  readonly gaps: readonly number[];
  /** The tool's part of each. */
  readonly tools: readonly number[];
}

/** A clock that tells parts of a millisecond. */
const clock = { ...systemClock, now: () => performance.timeOrigin + performance.now() };

/**
 * What the loop takes of each step beside its model, in ms: one task of so many steps, each of which reads a file of
 * 2 kB, with everything durable in a real ledger. The gaps hold the tool, the checkpoints, the budget, the guards, and the
 * client of the model too.
 */
export async function loopOverhead(dir: string, steps: number): Promise<LoopTimes> {
  const place = join(dir, `loop-${randomUUID()}`);
  const model = await startInstantModel(steps);
  const ledger = openTestLedger(join(dir, `loop-${randomUUID()}.db`));
  const config = AgentConfigSchema.parse({
    model: 'openai-compatible/instant',
    base_url: model.url,
    context_window: 1_000_000,
    workspace: { path: makeRepository(place, steps) },
    limits: { max_steps: 1_000 },
    // No command runs: the repository can be this user's own.
    tools: { shell: { confine: 'unconfined' } },
  });
  const agent = await createAgent({
    profile: 'bench',
    config,
    tier: 'haiku',
    env: { read: () => undefined },
    workspaceRoot: join(place, 'workspace'),
    stateDir: join(place, 'state'),
    clock,
    ids: systemIds,
    log: silent,
  });
  try {
    const task = newTask('Read all files.');
    await startTask(ledger, task);
    const { context, events } = ledgerRun(ledger, task, {
      model: config.model,
      limit: undefined,
      signal: new AbortController().signal,
      ask: () => Promise.reject(new Error('nobody to ask')),
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
 * What the model's own client takes of each step, in ms, measured alike: the same conversation with the SDK alone, nothing
 * durable, no budget and no guard. What the loop takes above it is the loop's.
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

/** A repository with a file for each step, so that no two steps do the same. */
function makeRepository(place: string, files: number): string {
  const path = join(place, 'repository');
  mkdirSync(path, { recursive: true });
  mkdirSync(join(place, 'state'), { mode: 0o700 });
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

/** A model on loopback that calls `read_file` so many times, then says that it is done; it thinks no time at all. */
async function startInstantModel(steps: number) {
  const gaps: number[] = [];
  let turn = 0;
  let answeredAt: number | undefined;
  const address = await listenAsModel((request, response) => {
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
  return { ...address, gaps };
}
