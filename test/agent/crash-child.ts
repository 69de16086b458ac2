import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLedger } from '@hermes-fleet/ledger';
import { type AgentConfig, AgentConfigSchema, createAgent, loopExecutor } from '@hermes-fleet/loop';
import { decodeDispatch } from '@hermes-fleet/protocol/handshake';
import {
  type AdmittedTask,
  systemClock as clock,
  defineTool,
  systemIds as ids,
  type Log,
  type RunContext,
} from '@hermes-fleet/protocol/ports';
import { createBudget } from '@hermes-fleet/protocol/tokens';
import { z } from 'zod';
import { afterCommits } from '../support/count-commits.ts';
import { startScript } from './script-server.ts';

/**
 * A worker's process for the crash test. In each of its lives, one after the other, it opens a worker's directory,
 * starts or resumes the task there from the ledger, and prints the outcome as a line. It kills itself with SIGKILL
 * right before the given write of a life, or right after the given commit, before anybody is told of it.
 */
const Order = z.object({
  lives: z.array(
    z.object({
      dir: z.string(),
      /** The number of the write to die before, or of the commit to die after, from 1; 0 for none. */
      dieAt: z.int(),
      at: z.enum(['write', 'commit']).default('write'),
    }),
  ),
  /** What the model does; without it, `config` has the address of a model. */
  script: z.custom<Script>().optional(),
  config: z.custom<z.input<typeof AgentConfigSchema>>(),
});
type Script = Parameters<typeof startScript>[0];
const TASK = 'crash-test';
const ARTIFACTS = { artifactBytes: 1000, taskBytes: 1000 };
const silent: Log = { debug() {}, info() {}, warn() {}, error: (...all) => console.error(...all) };
const ToolEvent = z.object({
  tool: z.string(),
  phase: z.enum(['started', 'ended']),
  ok: z.boolean().optional(),
});

const { lives, ...order } = Order.parse(JSON.parse(process.argv[2] ?? ''));
for (const life of lives) {
  const line = `${JSON.stringify(await live(life))}\n`;
  await new Promise((resolve) => process.stdout.write(line, resolve));
}

async function live({ dir, dieAt, at }: z.output<typeof Order>['lives'][number]): Promise<object> {
  /** The tools in the first model request: those of the task itself, not of a sub-agent. */
  let offered: readonly string[] | undefined;
  const server =
    order.script &&
    (await startScript(order.script, (tools) => {
      offered ??= tools;
      // One line for each call that the provider would bill, even if this process dies.
      appendFileSync(join(dir, 'bill'), 'call\n');
    }));
  /** Like a tool of an MCP server: its effect is elsewhere and cannot be observed. */
  const post = defineTool({
    name: 'mcp__board__post',
    description: 'Post a line.',
    mutates: true,
    repeatable: false,
    inputSchema: z.strictObject({ line: z.string() }),
    async run({ line }) {
      appendFileSync(join(dir, 'board'), `${line}\n`);
      return { ok: true, output: 'posted' };
    },
  });
  const model = { model: 'openai-compatible/scripted', base_url: server?.url, context_window: 128_000 };
  const config: AgentConfig = AgentConfigSchema.parse({ ...model, ...order.config });

  let commits = 0;
  const uncount = afterCommits(() => {
    commits += 1;
    if (at === 'commit' && commits === dieAt) process.kill(process.pid, 'SIGKILL');
  });
  const stateDir = join(dir, 'state');
  const ledger = openLedger({ file: join(stateDir, 'ledger.db'), profile: 'neo', clock, ids, log: silent });

  let writes = 0;
  /** Counts a durable write, and dies before the given one. */
  async function durable<T>(write: () => Promise<T>): Promise<T> {
    writes += 1;
    if (at === 'write' && writes === dieAt) process.kill(process.pid, 'SIGKILL');
    return await write();
  }

  const dispatch = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: TASK, priority: 'normal', write: true },
    brief: 'Do what the script says.',
  };
  const { task: record } = await ledger.accept({
    id: TASK,
    contextId: 'context',
    caller: 'tester',
    key: TASK,
    fingerprint: TASK,
    message: {},
    dispatch,
  });
  /** The tool events of the task in the ledger. */
  const calls = () => ledger.events(TASK).flatMap(({ data }) => ToolEvent.safeParse(data).data ?? []);
  const callsBefore = calls();
  const agent = await createAgent({
    executor: loopExecutor,
    profile: { name: 'neo', tier: 'haiku' },
    config,
    place: { workspaceRoot: join(dir, 'workspace'), stateDir },
    runtime: { env: { read: () => undefined }, clock, ids },
    observe: { log: silent },
    tools: { sources: [async () => [post]] },
  });
  const task: AdmittedTask = {
    id: TASK,
    contextId: record.contextId,
    deadlineAt: undefined,
    parts: [],
    resumes: 0,
    caller: { name: 'tester', scopes: new Set(['dispatch']) },
    dispatch: decodeDispatch(record.dispatch),
  };
  const { tokens } = ledger;
  const never = new AbortController().signal;
  const context: RunContext = {
    signal: never,
    stopping: never,
    budget: createBudget({
      taskId: TASK,
      limit: undefined,
      model: config.model,
      store: {
        entries: (id) => tokens.entries(id),
        reserve: (id, estimate) => durable(() => tokens.reserve(id, estimate)),
        settle: (id, actual) => durable(() => tokens.settle(id, actual)),
        add: (id, entry) => durable(() => tokens.add(id, entry)),
      },
    }),
    async reportEvent(event) {
      const data = event.type === 'text' ? { text: event.text } : event.data;
      await durable(() => ledger.append(TASK, { type: event.type, data }, { state: 'working' }));
    },
    park: (wait) => wait(),
    ask: () => Promise.reject(new Error('nobody answers')),
    artifacts: {
      maxBytes: ARTIFACTS.artifactBytes,
      add: (chunk) => durable(async () => (await ledger.addArtifact(TASK, chunk, ARTIFACTS)) !== undefined),
      findArtifact: (id) => ledger.wholeArtifact(TASK, id),
    },
    checkpoint: {
      load: () => ledger.loadCheckpoint(TASK),
      save: (state, growing) => durable(() => ledger.saveCheckpoint(TASK, state, growing)),
    },
  };
  const outcome = await agent.executor.run(task, context);
  await agent.close();
  server?.close();
  uncount();
  const entries = tokens.entries(TASK);
  const callsAfter = calls();
  const published = ledger.artifacts(TASK).map(({ name, parts }) => ({ name, parts }));
  await ledger.close();
  return { outcome, entries, published, writes, commits, offered: offered ?? [], callsBefore, callsAfter };
}
