import { join } from 'node:path';
import { examineMember, refillMember, runEntryPoint } from '@hermes-fleet/gateway/member';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { readConfiguration } from './configuration.ts';
import { CONTROL_PREFIXES } from './control-bus.ts';
import { readEnvironment } from './environment.ts';
import { startTrader } from './start.ts';
import { openControlOutbox } from './store/outbox.ts';
import { isAuditCommand, readAudit } from './verify-audit.ts';

const argv = process.argv.slice(2);
const audit = isAuditCommand(argv);

await runEntryPoint(
  {
    readEnvironment: (own, env) => readEnvironment(audit ? [] : own, env),
    start: audit ? (environment, env) => readAudit(argv, environment, env) : startTrader,
    examine: (environment, env) =>
      examineMember({
        environment,
        env,
        files: 'fleet.yaml, trader.yaml and IDENTITY.md',
        read: () => readConfiguration(environment, env, systemClock),
      }),
    /** The events of the ledger, and the control and trade events. */
    refill: async (environment, env, dryRun) => {
      const { fleet: config, credentials } = readConfiguration(environment, env, systemClock);
      const control = openControlOutbox(join(environment.stateDir, 'control.db'));
      try {
        const others = [{ source: control, subjectPrefixes: CONTROL_PREFIXES }];
        return await refillMember({ environment, config, login: credentials.bus, others, dryRun });
      } finally {
        control.close();
      }
    },
  },
  argv,
  process.env,
);
