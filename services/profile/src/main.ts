import { refillMember, runEntryPoint } from '@hermes-fleet/gateway/member';
import { examineProfile } from './doctor.ts';
import { readEnvironment } from './environment.ts';
import { readConfiguration } from './read-configuration.ts';
import { startProfile } from './start.ts';

// The gateway process of one profile, and its only entry point that listens (docs/operations.md).
await runEntryPoint(
  {
    readEnvironment,
    start: (environment, env) => startProfile(environment, env),
    examine: examineProfile,
    refill: (environment, env, dryRun) => {
      const { fleet: config, credentials } = readConfiguration(environment, env);
      return refillMember({ environment, config, login: credentials.bus, dryRun });
    },
  },
  process.argv.slice(2),
  process.env,
);
