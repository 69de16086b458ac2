import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '@hermes-fleet/ledger';
import { type Agent, AgentConfigSchema, createAgent, loopExecutor } from '@hermes-fleet/loop';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { ledgerRun, openTestLedger, startTask } from '../../support/ledger-run.ts';
import { chunkOf, listenAsModel, newTask, toolCall } from './agent-run.ts';

const MODEL = 'openai-compatible/hanging';
/** Duration of the command; short, so that it ends soon if the bench is killed. */
const COMMAND_S = 20;
/** Time limit for a target to start, and to end after its abort. */
const TIMEOUT_MS = 5_000;
/** Time until a deadline passes, once it is set. */
const DEADLINE_MS = 30;

export type Ending = 'canceled' | 'deadline';

/** A command or a model call of a run that is aborted. */
interface AbortTarget {
  /** The command that the model calls; without one, the model call itself hangs. */
  readonly command?: string;
  isRunning(): boolean;
  hasEnded(): boolean;
}

export interface AbortTimes {
  /** Until no process of the command remains. */
  readonly command: Readonly<Record<Ending, readonly number[]>>;
  /** Until the connection is closed. */
  readonly model: Readonly<Record<Ending, readonly number[]>>;
}

/**
 * Measures how long a running command and a hanging model call take to end, in ms, after a cancel and after a deadline.
 * Each abort is a separate run with a real agent and ledger, `aborts` of each kind in sequence. A kind has no samples if
 * its target does not start, as a command does where nothing can confine it.
 */
export async function abortTimes(aborts: number): Promise<AbortTimes> {
  await using made = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'hermes-bench-abort-'));
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  made.defer(remove);
  // The bench exits at once when a signal ends it early.
  process.once('exit', remove);
  // Commands may run as another user, who needs to traverse the directory.
  chmodSync(dir, 0o755);
  mkdirSync(join(dir, 'state'), { mode: 0o700 });
  const model = made.use(await startModel());
  const ledger = openTestLedger(join(dir, 'state', 'ledger.db'));
  made.defer(() => ledger.close());
  const config = AgentConfigSchema.parse({ model: MODEL, base_url: model.url });
  const agent = await createAgent({
    executor: loopExecutor,
    profile: { name: 'bench', tier: 'haiku' },
    config,
    place: { workspaceRoot: join(dir, 'workspace'), stateDir: join(dir, 'state') },
    runtime: { env: { read: () => undefined }, clock: systemClock, ids: systemIds },
    observe: { log: silentLog },
  });
  made.defer(() => agent.close());
  const series = async (targetOf: (at: number) => AbortTarget, ending: Ending): Promise<number[]> => {
    const times: number[] = [];
    for (let at = 0; at < aborts; at += 1) {
      const target = targetOf(at);
      model.answerWith(target.command);
      const ms = await timeToEnd(agent, ledger, target, ending);
      if (ms === undefined) break;
      times.push(ms);
      // The target did not end in time; further samples would only cost time.
      if (ms > TIMEOUT_MS) break;
    }
    return times;
  };
  // Warm-up: the first run creates the repository and compiles code.
  await timeToEnd(agent, ledger, model.call(), 'canceled');
  return {
    command: {
      canceled: await series((at) => stubborn(`1${at}`), 'canceled'),
      deadline: await series((at) => stubborn(`2${at}`), 'deadline'),
    },
    model: {
      canceled: await series(model.call, 'canceled'),
      deadline: await series(model.call, 'deadline'),
    },
  };
}

/** Runs a task until the target is running, aborts it, and waits for its end. Undefined if the target does not start. */
async function timeToEnd(
  agent: Agent,
  ledger: Ledger,
  target: AbortTarget,
  ending: Ending,
): Promise<number | undefined> {
  const task = newTask('Do it.');
  await startTask(ledger, task);
  const controller = new AbortController();
  const { context } = ledgerRun(ledger, task, {
    model: MODEL,
    limit: undefined,
    signal: controller.signal,
    ask: () => Promise.reject(new Error('there is no caller to ask')),
  });
  const ended = agent.executor.run(task, context).catch(() => {});
  try {
    if (!(await within(TIMEOUT_MS, target.isRunning))) return undefined;
    const since = abort(controller, ending);
    await within(TIMEOUT_MS + DEADLINE_MS, target.hasEnded);
    return performance.now() - since;
  } finally {
    controller.abort(new FleetError('CANCELED', 'the bench canceled the run'));
    await Promise.race([ended, sleep(COMMAND_S * 1_000, undefined, { ref: false })]);
  }
}

/** Aborts a run now, or by a timer as a deadline does. Returns the time at which the run should end. */
function abort(controller: AbortController, ending: Ending): number {
  const now = performance.now();
  if (ending === 'canceled') {
    controller.abort(new FleetError('CANCELED', 'the bench canceled the run'));
    return now;
  }
  const late = new FleetError('DEADLINE_EXCEEDED', 'the deadline has passed');
  systemClock.timer(() => controller.abort(late), DEADLINE_MS);
  return now + DEADLINE_MS;
}

async function within(ms: number, condition: () => boolean): Promise<boolean> {
  const giveUpAt = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > giveUpAt) return false;
    await sleep(1);
  }
  return true;
}

/** A command that ignores SIGTERM and has a child in another session. */
function stubborn(digits: string): AbortTarget {
  const seconds = `${COMMAND_S}.${process.pid}${digits}`;
  let pids: readonly string[] = [];
  return {
    command: `trap '' TERM; (setsid sleep ${seconds} &); sleep ${seconds}`,
    isRunning() {
      pids = processesWith(seconds);
      return pids.filter((pid) => commandLine(pid).startsWith('sleep\0')).length === 2;
    },
    // Searching all processes is slow, so it comes after the known ones have ended.
    hasEnded: () =>
      !pids.some((pid) => commandLine(pid).includes(seconds)) && processesWith(seconds).length === 0,
  };
}

const processesWith = (text: string): string[] =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandLine(name).includes(text));

/** The command line of a process; empty when it has ended or is a zombie. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** A model that calls one command, or starts an answer and never finishes it. */
async function startModel() {
  let command: string | undefined;
  let turn = 0;
  let open = 0;
  const server = await listenAsModel((request, response) => {
    turn += 1;
    const requested = command;
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (requested === undefined) {
        open += 1;
        request.socket.once('close', () => {
          open -= 1;
        });
        response.write(chunkOf(turn, { choices: [{ index: 0, delta: { content: 'Let me think. ' } }] }));
        return;
      }
      const delta = toolCall(turn, 'shell_exec', { command: requested });
      response.write(chunkOf(turn, { choices: [{ index: 0, delta }] }));
      response.write(chunkOf(turn, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }));
      response.end('data: [DONE]\n\n');
    });
  });
  return {
    ...server,
    answerWith(next: string | undefined): void {
      command = next;
    },
    call: (): AbortTarget => ({ isRunning: () => open > 0, hasEnded: () => open === 0 }),
  };
}
