import { readFileSync } from 'node:fs';
import { CONSOLE, keyPaths, TRADER } from '../keys/layout.ts';
import { configurationFiles, fingerprintOfServer, fingerprints } from './fingerprint.ts';
import { commandOf, type FleetPlan, type PlannedMember, serviceEnv } from './plan.ts';
import type { ProcessCommand } from './start-process.ts';

/** How the NATS server of a fleet is started. */
export const natsCommand = (plan: FleetPlan, file: string, env: NodeJS.ProcessEnv): ProcessCommand => ({
  file,
  args: ['--config', keyPaths(plan.keysDir).natsConfig],
  fingerprint: fingerprintOfServer(file, [plan.natsStoreDir, String(plan.nats.port)]),
  // Its configuration has all that it needs, and the environment may hold keys.
  env: { PATH: env.PATH, HOME: plan.dir },
  cwd: plan.dir,
});

const KEY = /_(?:API_KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD)$/i;

/** The trader and the console ask no provider, so they get those keys of the environment only that their configuration names. */
function withoutKeys(plan: FleetPlan, { name }: PlannedMember, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (name !== TRADER && name !== CONSOLE) return env;
  const text = configurationFiles(plan.home, name)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  return Object.fromEntries(Object.entries(env).filter(([key]) => !KEY.test(key) || text.includes(key)));
}

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
    const own = withoutKeys(plan, member, serviceEnv(plan, member, env));
    return {
      file: process.execPath,
      args: entryPoint === undefined ? commandOf(member.name) : [entryPoint],
      env: own,
      cwd: plan.home,
      fingerprint: fingerprintOf(member, own),
    };
  };
}
