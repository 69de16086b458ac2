import { setFlagsFromString } from 'node:v8';
import { FleetError } from '@hermes-fleet/protocol';
import { closeInheritedDescriptors } from '@hermes-fleet/service/descriptors';
import { readEnvironment } from './environment.ts';

/** Checks the configuration and what the console connects to instead of serving; prints a JSON report. */
const DOCTOR = '--doctor';
const argv = process.argv.slice(2);
closeInheritedDescriptors(argv);

// Batches of events, and rows of the views, make much garbage that dies young. Each of these flags of V8 trades some time for
// memory that would never be given back: together some milliseconds for each thousand events, and 30 MB (make bench ONLY=console).
for (const flag of [
  '--semi-space-growth-factor=1',
  '--heap-growing-percent=10',
  '--optimize-for-size',
  '--no-maglev',
])
  setFlagsFromString(flag);

try {
  const environment = readEnvironment(
    argv.filter((argument) => argument !== DOCTOR),
    process.env,
  );
  if (argv.includes(DOCTOR)) {
    const { examineConsole } = await import('./doctor.ts');
    const report = await examineConsole(environment, process.env);
    process.stdout.write(`${JSON.stringify(report)}\n`);
    process.exitCode = report.ok ? 0 : 1;
  } else {
    const { startConsole } = await import('./start.ts');
    await startConsole(environment, process.env);
  }
} catch (thrown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const fields = error instanceof FleetError ? error.fields : [];
  const lines = fields.map(({ path, reason }) => `  ${path}: ${reason}`);
  process.stderr.write(`${[`hermes-fleet: ${error.message}`, ...lines].join('\n')}\n`);
  process.exit(1);
}
