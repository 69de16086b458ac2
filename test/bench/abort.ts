import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Agent, AgentConfigSchema, createAgent } from '@hermes-fleet/agent';
import type { Ledger } from '@hermes-fleet/ledger';
import { FleetError, systemClock, systemIds } from '@hermes-fleet/protocol';
import { ledgerRun, openTestLedger, startTask } from '../support/ledger-run.ts';
import { chunkOf, listenAsModel, newTask, toolCall } from './agent-run.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const MODEL = 'openai-compatible/hanging';
/** How long the command would run. Should the bench itself be killed, it is gone soon. */
const COMMAND_S = 20;
/** How long something may take to get under way, or to end; then the figure says so. */
const PATIENCE_MS = 5_000;
/** From the moment that the deadline is set to the one that it is due. */
const DEADLINE_MS = 30;

export type Ending = 'canceled' | 'deadline';

/** What is aborted: it gets under way in a run, and is watched until nothing of it is left. */
interface Victim {
  /** For the model to call; without one the call itself hangs. */
  readonly command?: string;
  isUnderWay(): boolean;
  isGone(): boolean;
}

export interface AbortTimes {
  /** Until no process of the command is left. */
  readonly command: Readonly<Record<Ending, readonly number[]>>;
  /** Until the connection is closed. */
  readonly model: Readonly<Record<Ending, readonly number[]>>;
}

/**
 * How long a running command and a hanging call of the model live on, in ms: from the abort, or from the moment that a
 * deadline is due. So many of each, one after the other, each in a run of its own with a real agent and ledger. No
 * figures where nothing gets under way, as a command where nothing confines it.
 */
export async function abortTimes(aborts: number): Promise<AbortTimes> {
  await using made = new AsyncDisposableStack();
  const place = mkdtempSync(join(tmpdir(), 'hermes-bench-abort-'));
  const remove = (): void => rmSync(place, { recursive: true, force: true });
  made.defer(remove);
  // For a bench that is ended early, which exits at once.
  process.once('exit', remove);
  // Commands run as another user, who must be able to pass.
  chmodSync(place, 0o755);
  mkdirSync(join(place, 'state'), { mode: 0o700 });
  const model = made.use(await startModel());
  const ledger = openTestLedger(join(place, 'state', 'ledger.db'));
  made.defer(() => ledger.close());
  const config = AgentConfigSchema.parse({ model: MODEL, base_url: model.url });
  const agent = await createAgent({
    profile: 'bench',
    config,
    tier: 'haiku',
    env: { read: () => undefined },
    workspaceRoot: join(place, 'workspace'),
    stateDir: join(place, 'state'),
    clock: systemClock,
    ids: systemIds,
    log: silent,
  });
  made.defer(() => agent.close());
  const series = async (victim: (at: number) => Victim, ending: Ending): Promise<number[]> => {
    const times: number[] = [];
    for (let at = 0; at < aborts; at += 1) {
      const one = victim(at);
      model.answerWith(one.command);
      const ms = await timeToEnd(agent, ledger, one, ending);
      if (ms === undefined) break;
      times.push(ms);
      // It lives on, and more of them would only take time.
      if (ms > PATIENCE_MS) break;
    }
    return times;
  };
  // The first run makes the repository, and compiles.
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

/** Runs a task until the victim is under way, ends it, and watches. Undefined where it does not get under way. */
async function timeToEnd(
  agent: Agent,
  ledger: Ledger,
  victim: Victim,
  ending: Ending,
): Promise<number | undefined> {
  const task = newTask('Do it.');
  await startTask(ledger, task);
  const controller = new AbortController();
  const { context } = ledgerRun(ledger, task, {
    model: MODEL,
    limit: undefined,
    signal: controller.signal,
    ask: () => Promise.reject(new Error('nobody to ask')),
  });
  const ended = agent.executor.run(task, context).catch(() => {});
  try {
    if (!(await within(PATIENCE_MS, victim.isUnderWay))) return undefined;
    const since = end(controller, ending);
    await within(PATIENCE_MS + DEADLINE_MS, victim.isGone);
    return performance.now() - since;
  } finally {
    controller.abort(new FleetError('CANCELED', 'no more'));
    await Promise.race([ended, sleep(COMMAND_S * 1_000, undefined, { ref: false })]);
  }
}

/** Ends a run now, or by a timer as its deadline does; the moment from which it should be over. */
function end(controller: AbortController, ending: Ending): number {
  const now = performance.now();
  if (ending === 'canceled') {
    controller.abort(new FleetError('CANCELED', 'no more'));
    return now;
  }
  const late = new FleetError('DEADLINE_EXCEEDED', 'the deadline has passed');
  systemClock.timer(() => controller.abort(late), DEADLINE_MS);
  return now + DEADLINE_MS;
}

async function within(ms: number, holds: () => boolean): Promise<boolean> {
  const giveUpAt = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > giveUpAt) return false;
    await sleep(1);
  }
  return true;
}

/** A command that ignores SIGTERM, with a child that has left its session. */
function stubborn(digits: string): Victim {
  const seconds = `${COMMAND_S}.${process.pid}${digits}`;
  let pids: readonly string[] = [];
  return {
    command: `trap '' TERM; (setsid sleep ${seconds} &); sleep ${seconds}`,
    isUnderWay() {
      pids = processesWith(seconds);
      return pids.filter((pid) => commandLine(pid).startsWith('sleep\0')).length === 2;
    },
    // All processes are looked through only when the known ones are gone, since that takes its time.
    isGone: () =>
      !pids.some((pid) => commandLine(pid).includes(seconds)) && processesWith(seconds).length === 0,
  };
}

const processesWith = (text: string): string[] =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandLine(name).includes(text));

/** Empty for a process that is gone, or only waits for its parent to notice. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** A model that calls one command, or says a few words and then nothing more. */
async function startModel() {
  let command: string | undefined;
  let turn = 0;
  let open = 0;
  const address = await listenAsModel((request, response) => {
    turn += 1;
    const asked = command;
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (asked === undefined) {
        open += 1;
        request.socket.once('close', () => {
          open -= 1;
        });
        response.write(chunkOf(turn, { choices: [{ index: 0, delta: { content: 'Let me think. ' } }] }));
        return;
      }
      const delta = toolCall(turn, 'shell_exec', { command: asked });
      response.write(chunkOf(turn, { choices: [{ index: 0, delta }] }));
      response.write(chunkOf(turn, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }));
      response.end('data: [DONE]\n\n');
    });
  });
  return {
    ...address,
    answerWith(next: string | undefined): void {
      command = next;
    },
    call: (): Victim => ({ isUnderWay: () => open > 0, isGone: () => open === 0 }),
  };
}
