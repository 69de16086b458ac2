import { FleetError } from '@hermes-fleet/protocol';
import { readEnvironment } from './environment.ts';
import { startGateway } from './gateway.ts';

/** The gateway process of one profile: the only entry point that listens (design 1, Process roles). */
try {
  await startGateway(readEnvironment(process.argv.slice(2), process.env), process.env);
} catch (thrown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const lines =
    error instanceof FleetError ? error.fields.map(({ path, reason }) => `  ${path}: ${reason}`) : [];
  process.stderr.write(`${[`hermes-fleet: ${error.message}`, ...lines].join('\n')}\n`);
  process.exit(1);
}
