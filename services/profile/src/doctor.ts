import type { Finding } from '@hermes-fleet/gateway';
import { type DoctorReport, examineMember } from '@hermes-fleet/gateway/member';
import {
  createModelWindow,
  fallbackConfigs,
  learnWindow,
  type ProbedModel,
  probeModel,
  testCall,
} from '@hermes-fleet/loop';
import { FleetError } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/ports';
import type { SecretEnv } from '@hermes-fleet/service';
import { examineCommands, examineSigningKey } from './commands.ts';
import type { Environment } from './environment.ts';
import { examineRepositories } from './examine-repositories.ts';
import { EXECUTORS } from './executors.ts';
import { type Configuration, readConfiguration } from './read-configuration.ts';
import { askRunning, examineMcpTools } from './running-profile.ts';

/**
 * Implements `--doctor`; see `examineMember`. Also checks the model, and its fallbacks, with probes that cost no token, the
 * commands, the repositories, and the tools of MCP servers. Only with `--call` is each model called once, which costs about 30 tokens, at most 300.
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
      const found = [
        examineModels(configuration, env, environment),
        examineRunning(configuration),
        examineRepositories(configuration, env),
      ];
      return [...(await Promise.all(found)).flat(), ...examineSigningKey(configuration)];
    },
  });
}

async function examineRunning(configuration: Configuration): Promise<Finding[]> {
  const { server } = configuration.fleet.fleet;
  if (!server) return [];
  const running = await askRunning(server);
  return [...examineCommands(configuration, running), ...examineMcpTools(running)];
}

async function examineModels(
  { agent, fleet }: Pick<Configuration, 'agent' | 'fleet'>,
  env: SecretEnv,
  { callsModel = false }: Pick<Environment, 'callsModel'>,
): Promise<Finding[]> {
  if (fleet.fleet.response_handler === 'echo') return [];
  const models = [{ ...agent, fallback_models: [] }, ...fallbackConfigs(agent)];
  const found = models.map((each, index) =>
    examineModel(each, env, { subject: index === 0 ? 'model' : 'fallback model', callsModel }),
  );
  return (await Promise.all(found)).flat();
}

async function examineModel(
  agent: Configuration['agent'],
  env: SecretEnv,
  { subject, callsModel }: { readonly subject: string; readonly callsModel: boolean },
): Promise<Finding[]> {
  const called = callsModel ? [{ subject, ...(await examineCall(agent, env)) }] : [];
  let probed: ProbedModel | undefined;
  try {
    probed = EXECUTORS[agent.executor].probedModel(agent, env);
  } catch (thrown) {
    const { message } = FleetError.from(thrown);
    const fix = "correct the variable or the file of the model's key";
    return [{ subject, check: 'key', state: 'failed', detail: message, fix }];
  }
  const timeoutMs = agent.model_probe.timeout_s * 1000;
  // A package's API is not known, and offline/runbook has none.
  if (!probed) {
    const hasPackage = agent.provider !== undefined;
    return [
      ...(hasPackage ? [{ subject, ...(await examineWindow(agent, probed, timeoutMs)) }] : []),
      ...called,
    ];
  }
  const { state, detail } = await probeModel(probed, timeoutMs);
  const found = { subject, check: 'reachable', detail: `${agent.model}: ${detail}` } as const;
  if (state === 'ok')
    return [{ ...found, state }, { subject, ...(await examineWindow(agent, probed, timeoutMs)) }, ...called];
  const fix =
    "start the model's server, or correct base_url, model and the key in config.yaml; tasks wait until then";
  return [{ ...found, state: 'failed', fix }, ...called];
}

type OfModel = Omit<Finding, 'subject'>;

/** Below the time limit of the whole examination. */
const CALL_TIMEOUT_MS = 40_000;

async function examineCall(agent: Configuration['agent'], env: SecretEnv): Promise<OfModel> {
  const found = { check: 'call' } as const;
  try {
    const { isOk, detail } = await testCall(agent, env, CALL_TIMEOUT_MS);
    return { ...found, state: isOk ? 'ok' : 'failed', detail: `${agent.model}: ${detail}` };
  } catch (thrown) {
    return { ...found, state: 'failed', detail: FleetError.from(thrown).message };
  }
}

/** The window and where it comes from; asks the provider, if it can be asked, which costs no token. */
async function examineWindow(
  agent: Configuration['agent'],
  probed: ProbedModel | undefined,
  timeoutMs: number,
): Promise<OfModel> {
  const window = createModelWindow(agent, silentLog);
  if (probed) await learnWindow(probed, window, timeoutMs);
  const detail = `${window.tokens()} tokens: ${window.source()}`;
  const found = { check: 'context window', detail } as const;
  if (!detail.includes(': assumed')) return { ...found, state: 'ok' };
  return { ...found, state: 'warning', fix: "set context_window in config.yaml to the model's window" };
}
