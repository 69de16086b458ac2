import { join } from 'node:path';
import { type MemberEnvironment, type RefillReport, refillMember } from '@hermes-fleet/gateway/member';
import { systemClock } from '@hermes-fleet/protocol/ports';
import type { SecretEnv } from '@hermes-fleet/service';
import { readConfiguration } from './configuration.ts';
import { CONTROL_PREFIXES } from './control-bus.ts';
import { openControlOutbox } from './store/open-outbox.ts';

/** Implements `--refill`: the events of the ledger, and the control and trade events; see `refillMember`. */
export async function refillTrader(
  environment: MemberEnvironment,
  env: SecretEnv,
  dryRun: boolean,
): Promise<RefillReport> {
  const { fleet: config, credentials } = readConfiguration(environment, env, systemClock);
  const control = openControlOutbox(join(environment.stateDir, 'control.db'));
  try {
    const others = [{ source: control, subjectPrefixes: CONTROL_PREFIXES }];
    return await refillMember({ environment, config, login: credentials.bus, others, dryRun });
  } finally {
    control.close();
  }
}
