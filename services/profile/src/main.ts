import { runEntryPoint } from '@hermes-fleet/member';
import { examineProfile } from './doctor.ts';
import { readEnvironment } from './environment.ts';
import { startGateway } from './gateway.ts';

// The gateway process of one profile: the only entry point of it that listens (design 1, Process roles).
await runEntryPoint(
  {
    readEnvironment,
    start: (environment, env) => startGateway(environment, env),
    examine: examineProfile,
  },
  process.argv.slice(2),
  process.env,
);
