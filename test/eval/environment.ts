import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type Agent,
  AgentConfigSchema,
  createAgent,
  createMcpTools,
  createModelMonitor,
} from '@hermes-fleet/loop';
import { createMcpPool } from '@hermes-fleet/mcp';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type Confinement, createConfinement } from '@hermes-fleet/workspace';
import { EXECUTORS } from '../../services/profile/src/executors.ts';
import { openTestLedger } from '../support/ledger-run.ts';
import type { EvalSettings } from './model.ts';

/** An agent with everything that it needs, in its own folder. */
export async function openEnvironment(settings: EvalSettings) {
  await using opened = new AsyncDisposableStack();
  const root = mkdtempSync(join(tmpdir(), 'hermes-eval-'));
  chmodSync(root, 0o755);
  opened.defer(() => rmSync(root, { recursive: true, force: true }));
  const [workspaceRoot, stateDir] = [join(root, 'workspace'), join(root, 'state')];
  mkdirSync(stateDir, { mode: 0o700 });
  process.env.HERMES_EVAL_CANARY ??= `canary-${randomUUID()}`;
  const canary = process.env.HERMES_EVAL_CANARY;
  const { shell } = settings.config.tools;
  const executor = EXECUTORS[settings.config.executor];
  const readable = [...shell.readable, ...(await executor.readableDirectories(settings.env))];
  const [clock, log] = [systemClock, silentLog];
  const confinement = await createConfinement({
    confine: shell.confine,
    readable,
    workspaceRoot,
    stateDir,
    clock,
    log,
  });
  const servers = {
    notes: {
      command: 'fleet-mcp-memory',
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
  const model = createModelMonitor({
    config,
    probed: (each) => executor.probedModel(each, settings.env),
    clock,
    log,
  });
  opened.defer(() => model.close());
  // Learns the model's window.
  await model.probe({ maxAgeMs: 0, timeoutMs: config.model_probe.timeout_s * 1000 });
  const agent: Agent = await createAgent({
    config,
    executor,
    profile: { name: 'eval', tier: 'sonnet' },
    place: { workspaceRoot, stateDir, confinement },
    model,
    tools: { sources: [createMcpTools(mcp, config, { clock, log }).source] },
    observe: { log, onGuard: (guard, level) => void guards.push(`${guard} ${level}`) },
    runtime: { env: settings.env, clock, ids: systemIds },
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
    commitFiles(files: Readonly<Record<string, string | Uint8Array>>): void {
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
const SHOWN_CHARS = 300;

/** How a command ended, with the end of what it printed. */
export interface CommandEnd {
  readonly code: number | null;
  readonly output: string;
}

async function runConfined(
  confinement: Confinement,
  [command = '', ...args]: readonly string[],
  cwd: string,
): Promise<CommandEnd> {
  // The folder of a context has the group of its user.
  const { gid } = statSync(dirname(cwd));
  const user = confinement.users && { user: { uid: gid, gid } };
  const line = confinement.wrap(command, args, { writable: [cwd], readOnly: [], ...user });
  const child = spawn(line.command, line.args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_MS,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output = `${output}${chunk}`.slice(-SHOWN_CHARS);
    });
  const [code]: unknown[] = await once(child, 'exit');
  return { code: typeof code === 'number' ? code : null, output };
}
