import { type DoctorReport, examineMember } from '@hermes-fleet/member';
import type { SecretEnv } from '@hermes-fleet/service';
import { readConfiguration } from './configuration.ts';
import type { Environment } from './environment.ts';

/** `--doctor` of a profile: see examineMember. */
export function examineProfile(environment: Environment, env: SecretEnv): Promise<DoctorReport> {
  return examineMember({
    environment,
    env,
    files: 'fleet.yaml, config.yaml and IDENTITY.md',
    read: () => readConfiguration(environment, env),
  });
}
