import { FleetError } from '@hermes-fleet/protocol';
import { CONSOLE, ORCHESTRATOR } from '../keys/layout.ts';
import { stopProcess } from './down.ts';
import { changeSince } from './fingerprint.ts';
import { GRACE_MS, graceOf } from './grace.ts';
import { runningProcess } from './pid-file.ts';
import type { FleetPlan, PlannedMember, PlannedProcess } from './plan.ts';
import { ensureRunning, type Outcome, type StartOptions } from './start.ts';
import { type ProcessCommand, startProcess } from './start-process.ts';

/** A running service, how it would be started now, and what differs since its start. */
export interface Changed {
  readonly member: PlannedMember;
  readonly command: ProcessCommand;
  readonly change: string;
}

const rank = (name: string): number => [ORCHESTRATOR, CONSOLE].indexOf(name);

/** The order in which services restart: workers before the orchestrator, which sends them tasks, and the console last. */
export const restartOrder = (a: string, b: string): number => rank(a) - rank(b);

/**
 * Restarts services one at a time: SIGTERM, the drain of its `shutdown.drain_s`, a start, and ready before the next one. After
 * one that fails, the others run on as they are; so does a service whose fleet.yaml is invalid.
 */
export async function restartChanged(
  options: StartOptions<FleetPlan>,
  changed: readonly Changed[],
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const each of changed.toSorted((a, b) => restartOrder(a.member.name, b.member.name))) {
    const failed = outcomes.find(({ state }) => state === 'failed')?.name;
    outcomes.push(
      failed === undefined
        ? await restart(options, each)
        : left(each, `was not restarted, because ${failed} failed`),
    );
  }
  return outcomes;
}

/** The outcome of a service that runs on as it was started. */
export const left = ({ member: { name, url }, change }: Changed, why: string): Outcome => ({
  name,
  url,
  state: 'already running',
  reason: `${why}, although ${change}`,
});

async function restart(
  options: StartOptions<FleetPlan>,
  { member, command, change }: Changed,
): Promise<Outcome> {
  const { plan } = options;
  const { name, url } = member;
  let graceMs: number;
  try {
    graceMs = graceOf(plan, name, command.env);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return {
      name,
      url,
      state: 'failed',
      reason: `runs on as it was started, although ${change}: ${error.message}`,
    };
  }
  return await restartAs(options, member, command, { change, graceMs });
}

async function restartAs(
  options: StartOptions,
  planned: PlannedProcess,
  command: ProcessCommand,
  { change, graceMs }: { readonly change: string; readonly graceMs: number },
): Promise<Outcome> {
  const { plan, clock } = options;
  const { name, url } = planned;
  await stopProcess(plan.runDir, name, graceMs, clock);
  const outcome = await ensureRunning(options, planned, () => startProcess(plan.runDir, planned, command));
  return outcome.state === 'started' ? { name, url, state: 'restarted', reason: change } : outcome;
}

/** Starts NATS or Prometheus, or restarts it where it differs from how it was started. */
export async function ensureCurrent(
  options: StartOptions & { readonly withRestarts?: boolean | undefined },
  planned: PlannedProcess,
  command: ProcessCommand,
): Promise<Outcome> {
  const { runDir } = options.plan;
  const running = runningProcess(runDir, planned.name);
  const change = running && command.fingerprint && changeSince(running.fingerprint, command.fingerprint);
  if (change !== undefined && options.withRestarts !== false)
    return await restartAs(options, planned, command, { change, graceMs: GRACE_MS });
  const outcome = await ensureRunning(options, planned, () => startProcess(runDir, planned, command));
  if (change === undefined || outcome.state === 'failed') return outcome;
  return { ...outcome, reason: `runs on, although ${change}` };
}
