import { runEntryPoint } from '@hermes-fleet/member';
import { examineProfile } from './doctor.ts';
import { readEnvironment } from './environment.ts';
import { startProfile } from './start.ts';

// The gateway process of one profile, and its only entry point that listens (docs/operations.md).
await runEntryPoint(
  {
    readEnvironment,
    start: (environment, env) => startProfile(environment, env),
    examine: examineProfile,
  },
  process.argv.slice(2),
  process.env,
);
