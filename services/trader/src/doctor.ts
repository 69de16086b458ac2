import { type DoctorReport, examineMember, type MemberEnvironment } from '@hermes-fleet/gateway/member';
import { systemClock } from '@hermes-fleet/protocol/ports';
import type { SecretEnv } from '@hermes-fleet/service';
import { readConfiguration } from './configuration.ts';

/** Implements `--doctor`; see `examineMember`. */
export function examineTrader(environment: MemberEnvironment, env: SecretEnv): Promise<DoctorReport> {
  return examineMember({
    environment,
    env,
    files: 'fleet.yaml, trader.yaml and IDENTITY.md',
    read: () => readConfiguration(environment, env, systemClock),
  });
}
