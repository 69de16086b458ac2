import { AgentCard } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { createSecretEnv } from '@hermes-fleet/service';
import { profileCard } from './card.ts';
import { examineProfile } from './doctor.ts';
import { type Environment, readEnvironment } from './environment.ts';
import { startGateway } from './gateway.ts';

/** Looks at the configuration and the peers instead of serving; prints a report in JSON. */
const DOCTOR = '--doctor';
/** Prints the agent card instead of serving. */
const CARD = '--card';

/** The gateway process of one profile: the only entry point that listens (design 1, Process roles). */
async function main(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const own = argv.filter((argument) => argument !== DOCTOR && argument !== CARD);
  const environment = readEnvironment(own, env);
  if (argv.includes(DOCTOR)) await doctor(environment, env);
  else if (argv.includes(CARD)) print(AgentCard.toJSON(profileCard(environment, createSecretEnv(env))), 2);
  else await startGateway(environment, env);
}

async function doctor(environment: Environment, env: NodeJS.ProcessEnv): Promise<void> {
  const report = await examineProfile(environment, env);
  print(report);
  process.exitCode = report.ok ? 0 : 1;
}

const print = (value: unknown, indent = 0): void =>
  void process.stdout.write(`${JSON.stringify(value, null, indent)}\n`);

try {
  await main(process.argv.slice(2), process.env);
} catch (thrown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const lines =
    error instanceof FleetError ? error.fields.map(({ path, reason }) => `  ${path}: ${reason}`) : [];
  process.stderr.write(`${[`hermes-fleet: ${error.message}`, ...lines].join('\n')}\n`);
  process.exit(1);
}
