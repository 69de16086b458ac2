import { type ProbedModel, probedModel, probeModel } from '@hermes-fleet/agent';
import type { Finding } from '@hermes-fleet/fleet';
import { type DoctorReport, examineMember } from '@hermes-fleet/member';
import { FleetError } from '@hermes-fleet/protocol';
import type { SecretEnv } from '@hermes-fleet/service';
import { examineCommands } from './commands.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import type { Environment } from './environment.ts';

/** Implements `--doctor`; see `examineMember`. Also checks the model, with a probe that costs no token, and the commands. */
export function examineProfile(environment: Environment, env: SecretEnv): Promise<DoctorReport> {
  return examineMember({
    environment,
    env,
    files: 'fleet.yaml, config.yaml and IDENTITY.md',
    read() {
      const configuration = readConfiguration(environment, env);
      return { ...configuration, budget: configuration.agent.budget };
    },
    live: async (configuration) => {
      const found = [examineModel(configuration, env), examineCommands(configuration)];
      return (await Promise.all(found)).flat();
    },
  });
}

async function examineModel(
  { agent, fleet }: Pick<Configuration, 'agent' | 'fleet'>,
  env: SecretEnv,
): Promise<Finding[]> {
  if (fleet.fleet.response_handler === 'echo') return [];
  let probed: ProbedModel | undefined;
  try {
    probed = probedModel(agent, env);
  } catch (thrown) {
    const { message } = FleetError.from(thrown);
    const fix = "correct the variable or the file of the model's key";
    return [{ subject: 'model', check: 'key', state: 'failed', detail: message, fix }];
  }
  if (!probed) return [];
  const { state, detail } = await probeModel(probed, agent.model_probe.timeout_s * 1000);
  const found = { subject: 'model', check: 'reachable', detail: `${agent.model}: ${detail}` } as const;
  if (state === 'ok') return [{ ...found, state }];
  const fix =
    "start the model's server, or correct base_url, model and the key in config.yaml; tasks wait until then";
  return [{ ...found, state: 'failed', fix }];
}
