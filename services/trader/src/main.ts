import { runEntryPoint } from '@hermes-fleet/member';
import { examineTrader } from './doctor.ts';
import { readEnvironment } from './environment.ts';
import { startTrader } from './start.ts';
import { asksAboutAudit, lookAtAudit } from './verify-audit.ts';

const argv = process.argv.slice(2);
const audit = asksAboutAudit(argv);

await runEntryPoint(
  {
    readEnvironment: (own, env) => readEnvironment(audit ? [] : own, env),
    start: audit ? (environment, env) => lookAtAudit(argv, environment, env) : startTrader,
    examine: examineTrader,
  },
  argv,
  process.env,
);
