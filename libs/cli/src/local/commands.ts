import { keyPaths } from '../keys/layout.ts';
import { fingerprintOfServer, fingerprints } from './fingerprint.ts';
import { commandOf, type FleetPlan, type PlannedMember, serviceEnv } from './plan.ts';
import type { ProcessCommand } from './start-process.ts';

/** How the NATS server of a fleet is started. */
export const natsCommand = (plan: FleetPlan, file: string, env: NodeJS.ProcessEnv): ProcessCommand => ({
  file,
  args: ['--config', keyPaths(plan.keysDir).natsConfig],
  fingerprint: fingerprintOfServer(file, [plan.natsStoreDir, String(plan.nats.port)]),
  env,
  cwd: plan.dir,
});

/** How the services of a fleet are started, as their configuration and keys are now. */
export function memberCommands({
  plan,
  env,
  entryPoint,
}: {
  readonly plan: FleetPlan;
  readonly env: NodeJS.ProcessEnv;
  /** Replaces the entry point of every service. */
  readonly entryPoint?: string | undefined;
}) {
  const fingerprintOf = fingerprints(plan, entryPoint);
  return (member: PlannedMember): ProcessCommand => {
    const own = serviceEnv(plan, member, env);
    return {
      file: process.execPath,
      args: entryPoint === undefined ? commandOf(member.name) : [entryPoint],
      env: own,
      cwd: plan.home,
      fingerprint: fingerprintOf(member, own),
    };
  };
}
