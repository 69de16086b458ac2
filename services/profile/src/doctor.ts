import {
  createModelWindow,
  learnWindow,
  type ProbedModel,
  probedModel,
  probeModel,
  testCall,
} from '@hermes-fleet/agent';
import type { Finding } from '@hermes-fleet/fleet';
import { type DoctorReport, examineMember } from '@hermes-fleet/member';
import { FleetError, silentLog } from '@hermes-fleet/protocol';
import type { SecretEnv } from '@hermes-fleet/service';
import { examineCommands } from './commands.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import type { Environment } from './environment.ts';

/**
 * Implements `--doctor`; see `examineMember`. Also checks the model, with a probe that costs no token, and the commands. Only
 * with `--call` is the model called, which costs about a hundred tokens.
 */
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
      const found = [examineModel(configuration, env, environment), examineCommands(configuration)];
      return (await Promise.all(found)).flat();
    },
  });
}

async function examineModel(
  { agent, fleet }: Pick<Configuration, 'agent' | 'fleet'>,
  env: SecretEnv,
  { callsModel = false }: Pick<Environment, 'callsModel'>,
): Promise<Finding[]> {
  if (fleet.fleet.response_handler === 'echo') return [];
  const called = callsModel ? [await examineCall(agent, env)] : [];
  let probed: ProbedModel | undefined;
  try {
    probed = probedModel(agent, env);
  } catch (thrown) {
    const { message } = FleetError.from(thrown);
    const fix = "correct the variable or the file of the model's key";
    return [{ subject: 'model', check: 'key', state: 'failed', detail: message, fix }];
  }
  if (!probed) return called;
  const timeoutMs = agent.model_probe.timeout_s * 1000;
  const { state, detail } = await probeModel(probed, timeoutMs);
  const found = { subject: 'model', check: 'reachable', detail: `${agent.model}: ${detail}` } as const;
  if (state === 'ok') return [{ ...found, state }, await examineWindow(agent, probed, timeoutMs), ...called];
  const fix =
    "start the model's server, or correct base_url, model and the key in config.yaml; tasks wait until then";
  return [{ ...found, state: 'failed', fix }, ...called];
}

/** Below the time limit of the whole examination. */
const CALL_TIMEOUT_MS = 40_000;

async function examineCall(agent: Configuration['agent'], env: SecretEnv): Promise<Finding> {
  const found = { subject: 'model', check: 'call' } as const;
  try {
    const { isOk, detail } = await testCall(agent, env, CALL_TIMEOUT_MS);
    return { ...found, state: isOk ? 'ok' : 'failed', detail: `${agent.model}: ${detail}` };
  } catch (thrown) {
    return { ...found, state: 'failed', detail: FleetError.from(thrown).message };
  }
}

/** The window and where it comes from; asks the provider, which costs no token. */
async function examineWindow(
  agent: Configuration['agent'],
  probed: ProbedModel,
  timeoutMs: number,
): Promise<Finding> {
  const window = createModelWindow(agent, silentLog);
  await learnWindow(probed, window, timeoutMs);
  const detail = `${window.tokens()} tokens: ${window.source()}`;
  const found = { subject: 'model', check: 'context window', detail } as const;
  if (!detail.includes(': assumed')) return { ...found, state: 'ok' };
  return { ...found, state: 'warning', fix: "set context_window in config.yaml to the model's window" };
}
