import { FleetError } from '@hermes-fleet/protocol';
import { FLEET, JOINING } from '@hermes-fleet/protocol/api';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { fleetApi, serviceAt } from '../client/api.ts';
import { readSecret } from '../keys/secret-file.ts';
import { runs, stopGateway } from './run-gateway.ts';
import { type WorkerHome, type WorkerState, writeWorkerState } from './worker-home.ts';
import { presentedToken, removeWorkerKeys } from './worker-keys.ts';

const EVERY_MS = 500;

export interface LeaveOptions {
  readonly clock: Clock;
  /** Ends the wait for tasks. */
  readonly waitMs: number;
  /** Does not wait: the orchestrator gives up what the worker has. */
  readonly now: boolean;
  readonly say: (line: string) => void;
  /** Lets no other command change the worker until its disposal. */
  readonly lock: () => Disposable;
  /** Starts the gateway, whose tasks are not finished. */
  readonly startGateway: () => Promise<unknown>;
}

/** How a worker has left. */
export interface Left {
  /** Tasks that the orchestrator has given up. */
  readonly givenUp: number;
  readonly gateway: Awaited<ReturnType<typeof stopGateway>>;
}

/**
 * Takes a worker out of its fleet without losing a task: it takes no new ones, finishes what it has, the orchestrator forgets
 * it, and its gateway stops. Each step can be repeated, so that the same call goes on after a crash. Throws CAPACITY when
 * tasks are left after the wait; the worker then goes on finishing them.
 */
export async function leaveFleet(home: WorkerHome, state: WorkerState, options: LeaveOptions): Promise<Left> {
  const givenUp = state.phase === 'left' ? 0 : await endMembership(home, state, options);
  using _lock = options.lock();
  writeWorkerState(home, { ...state, phase: 'left' });
  const gateway = await stopGateway(home, options.clock);
  removeWorkerKeys(home);
  return { givenUp, gateway };
}

/** Resolves, when the orchestrator has forgotten the worker and it has no task left, with the tasks that were given up. */
async function endMembership(home: WorkerHome, state: WorkerState, options: LeaveOptions): Promise<number> {
  const { clock, waitMs, now } = options;
  const say = sayOnce(options.say);
  const giveUpAt = clock.now() + waitMs;
  let isStarted = false;
  for (;;) {
    const own = await drain(home, state, say);
    const theirs = await askToLeave(home, state, now);
    if (now) {
      if (theirs.silent) say(`${theirs.silent}; revoke the worker there: fleet workers revoke ${state.name}`);
      return theirs.tasks;
    }
    const isFinished = own ? own.tasks === 0 : !runs(home);
    if (theirs.left && isFinished) return 0;
    const tasks = Math.max(theirs.tasks, own?.tasks ?? 0);
    if (theirs.silent) say(`${theirs.silent}; trying again`);
    else if (own) say(`${state.name} takes no new task; waiting for ${tasks} that it has`);
    else if (!isStarted && !runs(home)) {
      say(
        `the gateway of ${state.name} does not run; it is started, because it has ${tasks} tasks to finish`,
      );
      isStarted = true;
      using _lock = options.lock();
      await options.startGateway();
    }
    if (clock.now() >= giveUpAt)
      throw new FleetError(
        'CAPACITY',
        `${state.name} has not left yet: it takes no new task and goes on with what it has; run fleet leave again, or with --now, which gives its tasks up`,
      );
    await clock.sleep(EVERY_MS);
  }
}

/** Says a line unless it was the last one. */
function sayOnce(say: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last) say(line);
    last = line;
  };
}

/** Makes the gateway take no new task; undefined if it does not run, or cannot be reached. */
async function drain(
  home: WorkerHome,
  { serverTls, endpoint }: WorkerState,
  say: (line: string) => void,
): Promise<{ readonly tasks: number } | undefined> {
  if (!runs(home)) return undefined;
  const token = readSecret(home.operatorToken) ?? '';
  const { name } = home.gateway;
  // The certificate is for the address of the worker, and not for that of this machine.
  const url = serverTls ? endpoint.replace(/\/(jsonrpc\/?)?$/, '') : home.gateway.url;
  try {
    const { running, waiting } = await fleetApi().call({ name, url, token }, FLEET.drain, { body: {} });
    return { tasks: running + waiting };
  } catch (error) {
    // It may end or begin at this moment.
    if (!(error instanceof FleetError && error.code === 'PEER_UNREACHABLE')) throw error;
    if (serverTls) say(error.message);
    return undefined;
  }
}

/**
 * Asks the orchestrator to let the worker go. A worker that it does not know has left, or was revoked. `tasks` are those of the
 * orchestrator that the worker has, and `silent` says why it has not answered.
 */
async function askToLeave(
  home: WorkerHome,
  state: WorkerState,
  now: boolean,
): Promise<{ readonly left: boolean; readonly tasks: number; readonly silent?: string }> {
  const token = presentedToken(home, state);
  if (token === undefined) return { left: true, tasks: 0 };
  try {
    const orchestrator = serviceAt(state.orchestrator.url, token);
    const answer = await fleetApi().call(orchestrator, JOINING.leave, { body: { now } });
    return { left: answer.state === 'left', tasks: answer.tasks };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    if (error.code === 'UNAUTHENTICATED') return { left: true, tasks: 0 };
    // It may be starting.
    if (error.code === 'PEER_UNREACHABLE') return { left: false, tasks: 0, silent: error.message };
    throw error;
  }
}
