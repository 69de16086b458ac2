import { EventEmitter } from 'node:events';
import { appendFileSync, mkdirSync } from 'node:fs';
import { type FleetPlan, memberEnv, type PlannedMember } from '@hermes-fleet/cli';
import type { Host } from '@hermes-fleet/service';
import { readEnvironment as readConsole } from '../../services/console/src/environment.ts';
import { startConsole } from '../../services/console/src/start.ts';
import { readEnvironment as readProfile } from '../../services/profile/src/environment.ts';
import { startProfile } from '../../services/profile/src/start.ts';
import { readEnvironment as readTrader } from '../../services/trader/src/environment.ts';
import { startTrader } from '../../services/trader/src/start.ts';
import type { MemberName } from './fleet.ts';

export interface RunningMembers {
  /** Rejects if a member doesn't start. */
  readonly started: Promise<void>;
  /** Stops the members as SIGTERM does, the profiles first. */
  stop(): Promise<void>;
}

interface Running {
  readonly started: Promise<void>;
  stop(): Promise<void>;
}

/** Starts members in this process, each with its own environment, log and signals. */
export function startMembers(
  plan: FleetPlan,
  members: readonly MemberName[],
  env: Readonly<Record<string, string>>,
): RunningMembers {
  const isNamed = ({ name }: PlannedMember): boolean => members.some((member) => member === name);
  const traders = plan.trader ? [plan.trader] : [];
  const running = new Map<PlannedMember, Running>();
  for (const member of [...traders, ...plan.profiles, plan.console].filter(isNamed))
    running.set(member, startMember(plan, member, env));
  const started = Promise.all([...running.values()].map((one) => one.started)).then(() => undefined);
  const stopAll = (planned: readonly PlannedMember[]): Promise<unknown> =>
    Promise.all(planned.map((member) => running.get(member)?.stop()));
  return {
    started,
    async stop() {
      await stopAll(plan.profiles);
      await stopAll(traders);
      await stopAll([plan.console]);
    },
  };
}

function startMember(plan: FleetPlan, member: PlannedMember, env: Readonly<Record<string, string>>): Running {
  const { name, logFile, workspaceDir } = member;
  if (workspaceDir !== undefined) mkdirSync(workspaceDir, { recursive: true, mode: 0o755 });
  const own = { PATH: process.env.PATH, ...env, ...memberEnv(plan, member), HERMES_NAME: name };
  const signals = new EventEmitter();
  const exited = Promise.withResolvers<number>();
  const host: Host = {
    output: { write: (line) => appendFileSync(logFile, line) },
    signals,
    exit: (code) => exited.resolve(code),
  };
  let hasStarted = true;
  const started = start(name, own, host).catch((error: unknown) => {
    hasStarted = false;
    throw new Error(`${name} has not started`, { cause: error });
  });
  return {
    started,
    async stop() {
      // It listens for signals once it has started.
      await started.catch(() => undefined);
      if (!hasStarted) return;
      signals.emit('SIGTERM');
      const code = await exited.promise;
      if (code !== 0) throw new Error(`${name} stopped with ${code}; its log is ${logFile}`);
    },
  };
}

async function start(name: string, env: NodeJS.ProcessEnv, host: Host): Promise<void> {
  if (name === 'console') return startConsole(readConsole([], env), env, host);
  if (name === 'trader') return startTrader(readTrader([], env), env, host);
  return startProfile(readProfile(['--profile', name], env), env, host);
}
