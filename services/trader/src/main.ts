import { runEntryPoint } from '@hermes-fleet/gateway/member';
import { examineTrader } from './doctor.ts';
import { readEnvironment } from './environment.ts';
import { refillTrader } from './refill.ts';
import { startTrader } from './start.ts';
import { isAuditCommand, readAudit } from './verify-audit.ts';

const argv = process.argv.slice(2);
const audit = isAuditCommand(argv);

await runEntryPoint(
  {
    readEnvironment: (own, env) => readEnvironment(audit ? [] : own, env),
    start: audit ? (environment, env) => readAudit(argv, environment, env) : startTrader,
    examine: examineTrader,
    refill: refillTrader,
  },
  argv,
  process.env,
);
