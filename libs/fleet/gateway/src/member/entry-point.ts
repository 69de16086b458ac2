import { AgentCard } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { createSecretEnv, type SecretEnv } from '@hermes-fleet/service';
import { closeInheritedDescriptors } from '@hermes-fleet/service/descriptors';
import { memberCard } from './card.ts';
import type { DoctorReport } from './doctor.ts';
import type { MemberEnvironment } from './environment.ts';
import type { RefillReport } from './refill.ts';

/** Examines the configuration and the peers instead of serving; prints a JSON report. */
const DOCTOR = '--doctor';
/** Prints the agent card instead of serving. */
const CARD = '--card';

/** Publishes again what the stream lacks instead of serving; prints a JSON report. With DRY_RUN, it only counts. */
const REFILL = '--refill';
const DRY_RUN = '--dry-run';

const KEEP_ALIVE_MS = 60_000;

/** The parts of a member's main program. */
export interface EntryPoint<E extends MemberEnvironment> {
  /** Receives the remaining arguments; throws CONFIG_INVALID. */
  readEnvironment(argv: readonly string[], env: NodeJS.ProcessEnv): E;
  start(environment: E, env: NodeJS.ProcessEnv): Promise<void>;
  examine(environment: E, env: SecretEnv): Promise<DoctorReport>;
  refill(environment: E, env: SecretEnv, dryRun: boolean): Promise<RefillReport>;
}

/**
 * Starts a member, or runs `--doctor`, `--card` or `--refill` instead. HERMES_NAME is the member's name for its files. A failure is
 * printed on stderr, with one line per configuration problem, and ends the process with code 1.
 */
export async function runEntryPoint<E extends MemberEnvironment>(
  options: EntryPoint<E>,
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  closeInheritedDescriptors(argv);
  // Pending work of a start may be unreferenced: without this timer, the process could exit before the start is done.
  const keepAlive = setInterval(() => undefined, KEEP_ALIVE_MS);
  try {
    const isRefill = argv.includes(REFILL);
    const ours = [DOCTOR, CARD, ...(isRefill ? [REFILL, DRY_RUN] : [])];
    const own = argv.filter((argument) => !ours.includes(argument));
    const environment = options.readEnvironment(own, env);
    const named = { ...env, HERMES_NAME: environment.name };
    const secrets = createSecretEnv(named);
    if (argv.includes(DOCTOR)) {
      const report = await options.examine(environment, secrets);
      print(JSON.stringify(report));
      process.exitCode = report.ok ? 0 : 1;
    } else if (isRefill)
      print(JSON.stringify(await options.refill(environment, secrets, argv.includes(DRY_RUN))));
    else if (argv.includes(CARD))
      print(JSON.stringify(AgentCard.toJSON(memberCard(environment, secrets)), null, 2));
    else await options.start(environment, named);
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const lines =
      error instanceof FleetError ? error.fields.map(({ path, reason }) => `  ${path}: ${reason}`) : [];
    process.stderr.write(`${[`hermes-fleet: ${error.message}`, ...lines].join('\n')}\n`);
    process.exit(1);
  } finally {
    clearInterval(keepAlive);
  }
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
