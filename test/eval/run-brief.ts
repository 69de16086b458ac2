import { execFileSync, spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type Agent,
  AgentConfigSchema,
  createAgent,
  createModelMonitor,
  mcpToolSource,
} from '@hermes-fleet/agent';
import { claudeCode } from '@hermes-fleet/claude-code';
import { createMcpPool } from '@hermes-fleet/mcp';
import {
  type AdmittedTask,
  FleetError,
  type RunEvent,
  type RunOutcome,
  systemClock,
  systemIds,
} from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type Confinement, createConfinement } from '@hermes-fleet/workspace';
import { ledgerRun, openTestLedger, startTask } from '../support/ledger-run.ts';
import type { EvalBrief } from './brief.ts';
import { check } from './checks.ts';
import type { EvalSettings } from './model.ts';

/** The outcome of one brief. */
export interface Verdict {
  readonly name: string;
  readonly outcome: 'pass' | 'fail' | 'skip';
  /** The reasons why it did not pass. */
  readonly why: readonly string[];
  readonly status: string;
  readonly tokens: number;
  /** Model calls. */
  readonly steps: number;
  /** Guard interventions, such as `verify warn`, one entry each. */
  readonly guards: readonly string[];
  readonly seconds: number;
}

/** The run is abandoned when the executor does not end this long after its deadline. */
const UNRESPONSIVE_S = 60;
const CONTEXT = 'eval';
const require = createRequire(import.meta.url);
const MEMORY_SERVER = join(
  dirname(require.resolve('@modelcontextprotocol/server-memory/package.json')),
  'dist/index.js',
);

export const newId = (): string => String(randomInt(100_000_000, 1_000_000_000));

/**
 * Runs one brief with a real agent in its own environment: workspace, confinement, ledger and an MCP server. Bounded by
 * the brief's budget and deadline and by `signal`; removes its files.
 */
export async function runBrief(
  brief: EvalBrief,
  id: string,
  settings: EvalSettings,
  signal: AbortSignal,
): Promise<Verdict> {
  await using environment = await openEnvironment(settings);
  const { agent, ledger, guards, root } = environment;
  const offered = new Set([...agent.capabilities().tools, 'mcp']);
  const missing = brief.needs.filter((tool) => !offered.has(tool));
  const notRun = { name: brief.name, status: '-', tokens: 0, steps: 0, guards: [], seconds: 0 };
  if (missing.length > 0)
    return { ...notRun, outcome: 'skip', why: [`needs ${missing.join(', ')}: ${agent.notes.join('; ')}`] };
  environment.commitFiles({
    ...brief.files,
    ...(brief.progress && { 'PROGRESS.json': JSON.stringify(brief.progress) }),
  });
  const task = taskOf(brief);
  await startTask(ledger, task);
  using deadline = deadlineOf(brief.deadline_s, signal);
  const run = ledgerRun(ledger, task, {
    model: settings.config.model,
    limit: brief.budget,
    signal: deadline.signal,
    ask: () =>
      brief.answer === undefined
        ? new Promise((_, reject) =>
            deadline.signal.addEventListener('abort', () => reject(deadline.signal.reason)),
          )
        : Promise.resolve(brief.answer),
  });
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const common = { name: brief.name, guards };
  try {
    const result = await Promise.race([
      agent.executor.run(task, run.context),
      unresponsive(brief.deadline_s),
    ]);
    const totals = {
      tokens: run.budget.spent(),
      steps: run.calls(),
      seconds: seconds(),
      status: result.status,
    };
    const tree = join(root, 'workspace/contexts', CONTEXT, 'tree');
    const why = await check(brief.expect, {
      result,
      tree,
      id,
      tokens: totals.tokens,
      seconds: totals.seconds,
      canary: environment.canary,
      scratchpad: join(tree, '.scratch', task.dispatch.task.taskId),
      memory: join(root, 'state/memory'),
      tools: succeeded(run.events),
      budget: brief.budget,
      deadlineS: brief.deadline_s,
      run: (command) => environment.command(['/bin/sh', '-c', command], tree),
    });
    return { ...common, ...totals, outcome: why.length === 0 ? 'pass' : 'fail', why };
  } catch (error) {
    signal.throwIfAborted();
    const totals = { tokens: run.budget.spent(), steps: run.calls(), seconds: seconds(), status: 'threw' };
    return {
      ...common,
      ...totals,
      outcome: 'fail',
      why: [error instanceof Error ? error.message : String(error)],
    };
  }
}

function taskOf(brief: EvalBrief): AdmittedTask {
  const { priority, reply, output_schema: outputSchema, write, budget, deadline_s: deadlineS } = brief;
  const taskId = `eval-${brief.name}`;
  return {
    id: randomUUID(),
    contextId: CONTEXT,
    resumes: 0,
    deadlineAt: Date.now() + deadlineS * 1000,
    caller: { name: 'eval', scopes: new Set(['dispatch', 'read']) },
    dispatch: {
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      brief: brief.text,
      task: {
        taskId,
        priority,
        replySchema: reply,
        tokenBudget: budget,
        write,
        ...(outputSchema && { outputSchema }),
      },
      requirements: {
        requiredCapabilities: brief.needs.filter((name) => name !== 'mcp'),
        requiredMcp: brief.needs.includes('mcp') ? ['notes'] : [],
      },
    },
  };
}

function deadlineOf(seconds: number, signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const late = (): void =>
    controller.abort(new FleetError('DEADLINE_EXCEEDED', `the deadline of ${seconds} s has passed`));
  const timer = setTimeout(late, seconds * 1000);
  return {
    signal: AbortSignal.any([controller.signal, signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

function unresponsive(deadlineS: number): Promise<RunOutcome> {
  const { promise, reject } = Promise.withResolvers<RunOutcome>();
  const error = new Error(`the executor did not end ${UNRESPONSIVE_S} s after its deadline`);
  setTimeout(() => reject(error), (deadlineS + UNRESPONSIVE_S) * 1000).unref();
  return promise;
}

const succeeded = (events: readonly RunEvent[]): ReadonlySet<string> =>
  new Set(
    events.flatMap((event) =>
      event.type === 'progress' && event.data.ok === true ? [String(event.data.tool)] : [],
    ),
  );

/** An agent with everything that it needs, in its own folder. */
async function openEnvironment(settings: EvalSettings) {
  await using opened = new AsyncDisposableStack();
  const root = mkdtempSync(join(tmpdir(), 'hermes-eval-'));
  chmodSync(root, 0o755);
  opened.defer(() => rmSync(root, { recursive: true, force: true }));
  const [workspaceRoot, stateDir] = [join(root, 'workspace'), join(root, 'state')];
  mkdirSync(stateDir, { mode: 0o700 });
  process.env.HERMES_EVAL_CANARY ??= `canary-${randomUUID()}`;
  const canary = process.env.HERMES_EVAL_CANARY;
  const { confine } = settings.config.tools.shell;
  const readable = await claudeCode.readableDirectories(settings.config, settings.env);
  const [clock, log] = [systemClock, silentLog];
  const confinement = await createConfinement({ confine, readable, workspaceRoot, stateDir, clock, log });
  const servers = {
    notes: {
      command: process.execPath,
      args: [MEMORY_SERVER],
      env: { MEMORY_FILE_PATH: join(workspaceRoot, 'mcp/notes.jsonl') },
      scope: 'profile',
    },
  } as const;
  const mcp = createMcpPool({ servers, clock, log, launch: confinement.launch });
  opened.defer(() => mcp.close());
  const config = {
    ...settings.config,
    mcp: AgentConfigSchema.parse({ mcp: { servers } }).mcp,
  };
  const guards: string[] = [];
  const model = createModelMonitor({ config, responseHandler: 'agent', env: settings.env, clock, log });
  opened.defer(() => model.close());
  // Learns the model's window.
  await model.probe({ maxAgeMs: 0, timeoutMs: config.model_probe.timeout_s * 1000 });
  const agent: Agent = await createAgent({
    claudeCode,
    profile: 'eval',
    config,
    tier: 'sonnet',
    workspaceRoot,
    stateDir,
    confinement,
    env: settings.env,
    clock,
    ids: systemIds,
    log,
    modelCalls: model.calls,
    modelWindow: model.window,
    onGuard: (guard, level) => void guards.push(`${guard} ${level}`),
    toolSources: [mcpToolSource(mcp, config, { clock, log })],
  });
  opened.defer(() => agent.close());
  const ledger = openTestLedger(join(stateDir, 'ledger.db'));
  opened.defer(() => ledger.close());
  const closing = opened.move();
  return {
    root,
    agent,
    ledger,
    guards,
    canary,
    command: (line: readonly string[], cwd: string) => runConfined(confinement, line, cwd),
    /** Pushes files to the repository that contexts start from. */
    commitFiles(files: Readonly<Record<string, string>>): void {
      if (Object.keys(files).length === 0) return;
      const clone = join(root, 'files');
      const git = (...args: string[]): void =>
        void execFileSync('git', [...IDENTITY, ...args], { stdio: 'pipe' });
      git('clone', '-q', join(workspaceRoot, 'base.git'), clone);
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(clone, path)), { recursive: true });
        writeFileSync(join(clone, path), content);
      }
      git('-C', clone, 'add', '--force', '.');
      git('-C', clone, 'commit', '-qm', 'Initial files');
      git('-C', clone, 'push', '-q', 'origin', 'HEAD:main');
    },
    [Symbol.asyncDispose]: () => closing[Symbol.asyncDispose](),
  };
}

const IDENTITY = ['-c', 'user.name=eval', '-c', 'user.email=eval@localhost'];

const COMMAND_MS = 60_000;

async function runConfined(
  confinement: Confinement,
  [command = '', ...args]: readonly string[],
  cwd: string,
): Promise<number | null> {
  // The folder of a context has the group of its user.
  const { gid } = statSync(dirname(cwd));
  const user = confinement.users && { user: { uid: gid, gid } };
  const line = confinement.wrap(command, args, { writable: [cwd], readOnly: [], ...user });
  const child = spawn(line.command, line.args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, LANG: 'C.UTF-8' },
    stdio: 'ignore',
    timeout: COMMAND_MS,
    killSignal: 'SIGKILL',
  });
  const [code]: unknown[] = await once(child, 'exit');
  return typeof code === 'number' ? code : null;
}
