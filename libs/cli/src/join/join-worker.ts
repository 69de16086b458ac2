import type { Read } from '@hermes-fleet/net/api';
import { FleetError } from '@hermes-fleet/protocol';
import { type Finding, JOINING } from '@hermes-fleet/protocol/api';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { fleetApi, serviceAt } from '../client/api.ts';
import { tokenHash } from '../keys/init.ts';
import { examine } from '../local/entry-point.ts';
import { commandOf } from '../local/plan.ts';
import { answerChallenge } from './answer-challenge.ts';
import { runs } from './run-gateway.ts';
import { serverOptions } from './worker-certificates.ts';
import {
  prepareHome,
  type WorkerHome,
  type WorkerState,
  workerEnv,
  workerHome,
  writeWorkerState,
} from './worker-home.ts';
import { makeWorkerKeys, presentedToken, sealWorkerKeys } from './worker-keys.ts';
import { writeProfile } from './worker-profile.ts';

const SEEN_MS = 60_000;
const SEEN_EVERY_MS = 250;

export interface JoinOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Is called with what has been done. */
  readonly say: (line: string) => void;
}

/** The entry point of the worker's gateway. */
export const gatewayOf = (home: WorkerHome, state: WorkerState, { env }: JoinOptions) => ({
  command: commandOf(state.name),
  env: workerEnv(home, state, env),
  cwd: home.dir,
});

/**
 * Writes profile and keys of a worker and joins with them. Nothing is stored at the orchestrator unless the way back works;
 * after a crash, the same call goes on. Throws FleetErrors; a folder of a worker that has not joined is then written anew by
 * the next call.
 */
export async function enlist(
  planned: { readonly folder: string; readonly tier: string; readonly state: WorkerState },
  joinToken: string,
  { profileDir, ...options }: JoinOptions & { readonly profileDir: string | undefined },
): Promise<WorkerState> {
  const { folder, tier, state } = planned;
  const home = workerHome(folder, state);
  prepareHome(home, state.workspaceDir);
  writeWorkerState(home, state);
  const tokens = makeWorkerKeys(home, state);
  writeProfile(home, state, { from: profileDir, tier });
  await checkProfile(home, state, options);
  {
    await using _listener = await answerChallenge({
      bind: state.bind,
      orchestrator: state.orchestrator.name,
      token: tokens.accepts,
      tls: serverOptions(state.serverTls),
    });
    await fleetApi().call(serviceAt(state.orchestrator.url, joinToken), JOINING.join, {
      body: {
        name: state.name,
        endpoint: state.endpoint,
        token_digest: tokenHash(tokens.presents),
        token: tokens.accepts,
      },
    });
  }
  options.say(`${state.orchestrator.name} has accepted ${state.name}, and reaches it at ${state.endpoint}`);
  return joined(home, state);
}

/** Records that the orchestrator knows the worker. */
export function joined(home: WorkerHome, state: WorkerState): WorkerState {
  const now: WorkerState = { ...state, phase: 'joined' };
  writeWorkerState(home, now);
  sealWorkerKeys(home, now);
  return now;
}

/** The membership of a worker that joined before; undefined when the orchestrator does not know it. */
export async function membershipOf(
  home: WorkerHome,
  state: WorkerState,
): Promise<Read<typeof JOINING.membership> | undefined> {
  const token = presentedToken(home, state);
  if (token === undefined) return undefined;
  try {
    return await fleetApi().call(serviceAt(state.orchestrator.url, token), JOINING.membership);
  } catch (error) {
    if (error instanceof FleetError && error.code === 'UNAUTHENTICATED') return undefined;
    throw error;
  }
}

/** Refuses a profile that could not start, before the join token is used. The orchestrator does not know the worker yet. */
async function checkProfile(home: WorkerHome, state: WorkerState, options: JoinOptions): Promise<void> {
  const report = await examine(state.name, gatewayOf(home, state, options));
  const wrong = report.findings.filter(
    ({ state: found, subject }) => found === 'failed' && subject === 'configuration',
  );
  if (wrong.length === 0) return;
  throw new FleetError('CONFIG_INVALID', `the profile of ${state.name} is not valid; nothing was joined`, {
    fields: wrong.map(({ check, detail }) => ({ path: check, reason: detail })),
  });
}

/** Waits until the orchestrator has an announce of the worker. */
export async function awaitSeen(home: WorkerHome, state: WorkerState, clock: Clock): Promise<void> {
  const giveUpAt = clock.now() + SEEN_MS;
  for (;;) {
    const membership = await membershipOf(home, state);
    if (membership?.peer === 'live') return;
    if (!membership)
      throw new FleetError('UNAUTHENTICATED', `${state.name} is no member any more: it was revoked`);
    if (clock.now() >= giveUpAt)
      throw new FleetError(
        'PEER_UNREACHABLE',
        `${state.orchestrator.name} has no announce of ${state.name} after ${SEEN_MS / 1000} s: the log of its gateway says why`,
      );
    if (!runs(home))
      throw new FleetError(
        'CONFIG_INVALID',
        `the gateway of ${state.name} has ended: ${home.gateway.logFile} says why`,
      );
    await clock.sleep(SEEN_EVERY_MS);
  }
}

/** The checks of `fleet doctor` in both directions, as findings with the side that made them. */
export async function examineBothWays(
  home: WorkerHome,
  state: WorkerState,
  options: JoinOptions,
): Promise<readonly (Read<typeof Finding> & { readonly by: string })[]> {
  const orchestrator = serviceAt(state.orchestrator.url, presentedToken(home, state));
  const [own, theirs] = await Promise.all([
    examine(state.name, gatewayOf(home, state, options)),
    fleetApi().call(orchestrator, JOINING.check),
  ]);
  return [
    ...own.findings.map((finding) => ({ by: state.name, ...finding })),
    ...theirs.findings.map((finding) => ({ by: state.orchestrator.name, ...finding })),
  ];
}
