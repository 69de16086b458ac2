import { FleetError } from '@hermes-fleet/protocol';
import { examineProfile } from './doctor.ts';
import { readEnvironment } from './environment.ts';
import { startGateway } from './gateway.ts';

/** Looks at the configuration and the peers instead of serving; prints a report in JSON. */
const DOCTOR = '--doctor';

/** The gateway process of one profile: the only entry point that listens (design 1, Process roles). */
try {
  const argv = process.argv.slice(2);
  const environment = readEnvironment(
    argv.filter((argument) => argument !== DOCTOR),
    process.env,
  );
  if (argv.includes(DOCTOR)) {
    const report = await examineProfile(environment, process.env);
    process.stdout.write(`${JSON.stringify(report)}\n`);
    process.exitCode = report.ok ? 0 : 1;
  } else await startGateway(environment, process.env);
} catch (thrown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const lines =
    error instanceof FleetError ? error.fields.map(({ path, reason }) => `  ${path}: ${reason}`) : [];
  process.stderr.write(`${[`hermes-fleet: ${error.message}`, ...lines].join('\n')}\n`);
  process.exit(1);
}
