import { examineMember, runEntryPoint } from '@hermes-fleet/member';
import { readConfiguration } from './configuration.ts';
import { readEnvironment } from './environment.ts';
import { startProfile } from './start.ts';

// The gateway process of one profile, and its only entry point that listens (docs/operations.md).
await runEntryPoint(
  {
    readEnvironment,
    start: (environment, env) => startProfile(environment, env),
    examine: (environment, env) =>
      examineMember({
        environment,
        env,
        files: 'fleet.yaml, config.yaml and IDENTITY.md',
        read: () => readConfiguration(environment, env),
      }),
  },
  process.argv.slice(2),
  process.env,
);
