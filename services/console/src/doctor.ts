import { join } from 'node:path';
import { readStreams } from '@hermes-fleet/events';
import { createClient, type TlsFetch } from '@hermes-fleet/net';
import { tlsFault } from '@hermes-fleet/net/tls';
import { FleetError } from '@hermes-fleet/protocol';
import type { Answer, DoctorReport } from '@hermes-fleet/protocol/api';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { createSecretEnv, loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import { type ConsoleTls, readCertificates } from './config/certificates.ts';
import { type ConsoleConfig, ConsoleConfigSchema } from './config/schema.ts';
import { FILTERS } from './consume/readers.ts';
import { CONSOLE_NAME, type ConsoleEnvironment } from './environment.ts';
import { connectionOf, readLoginSecret } from './start.ts';

/** The output of `--doctor`. */
type Report = Answer<typeof DoctorReport>;
/** One check of `fleet doctor --profile console`. */
type Finding = Report['findings'][number];

const NATS_MS = 15_000;
const HTTP_MS = 10_000;

/**
 * Checks the configuration as a start does, then what the console connects to (docs/operations.md). It listens nowhere,
 * opens no read model and makes no consumer, so it may run beside the console itself.
 */
export async function examineConsole(
  environment: ConsoleEnvironment,
  processEnv: NodeJS.ProcessEnv,
): Promise<Report> {
  const env = createSecretEnv(processEnv);
  const [config, tls, ...problems] = readConfiguration(environment, env);
  const live = config
    ? await Promise.all([
        examineBus(config, env, tls),
        examineProfiles(config, tls),
        examineItself(environment),
      ])
    : [];
  const findings = [...problems, ...live.flat()];
  return { profile: CONSOLE_NAME, ok: findings.every(({ state }) => state !== 'failed'), findings };
}

/** The configuration, unless it is wrong, and what was found about it. */
function readConfiguration(
  { dir }: ConsoleEnvironment,
  env: SecretEnv,
): [ConsoleConfig | undefined, ConsoleTls, ...Finding[]] {
  const subject = 'configuration';
  const tried = <T>(check: string, detail: string, read: () => T): [T | undefined, Finding[]] => {
    try {
      return [read(), [{ subject, check, state: 'ok', detail }]];
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      const fields = error.fields.map(({ path, reason }) => `${path}: ${reason}`);
      return [
        undefined,
        [{ subject, check, state: 'failed', detail: [error.message, ...fields].join('; ') }],
      ];
    }
  };
  const file = join(dir, 'console.yaml');
  const [config, files] = tried('files', 'console.yaml is valid', () =>
    loadYamlConfig({ file, schema: ConsoleConfigSchema, env }),
  );
  const [, keys] = tried('keys', 'CONSOLE_LOGIN is there', () => readLoginSecret(env));
  const none: ConsoleTls = { members: undefined, nats: undefined };
  const own = config?.value.console;
  if (own?.tls === undefined && own?.nats.tls === undefined) return [own, none, ...files, ...keys];
  const [tls = none, certificates] = tried('certificates', 'the certificates are valid', () =>
    readCertificates(own, dir, { clock: systemClock, log: silentLog }),
  );
  return [own, tls, ...files, ...keys, ...certificates];
}

async function examineBus({ nats }: ConsoleConfig, env: SecretEnv, tls: ConsoleTls): Promise<Finding[]> {
  const [subject, fix] = [
    'nats',
    'run fleet up; or run fleet keys init and nats setup, and restart NATS, which then knows the user console',
  ];
  try {
    const streams = await readStreams(
      connectionOf(nats.servers, env, tls.nats),
      Object.values(FILTERS),
      NATS_MS,
    );
    return streams.map((found) => {
      const check = `stream ${found.stream}`;
      if ('problem' in found) return { subject, check, state: 'failed', detail: found.problem, fix };
      const since = found.oldest === undefined ? '' : `, the oldest of ${found.oldest}`;
      return { subject, check, state: 'ok', detail: `${found.events} events${since}` };
    });
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return [{ subject, check: 'connection', state: 'failed', detail, fix }];
  }
}

function examineProfiles({ profiles }: ConsoleConfig, { members }: ConsoleTls): Promise<Finding[]> {
  const send = createClient('configured', { tls: members });
  return Promise.all(
    Object.entries(profiles).map(async ([subject, { url }]): Promise<Finding> => {
      const problem = await problemAt(`${url}/health`, send);
      if (problem === undefined)
        return { subject, check: 'address', state: 'ok', detail: `answers at ${url}` };
      const fix = 'start it, or correct console.profiles: pages of its tasks cannot be opened until then';
      return { subject, check: 'address', state: 'failed', detail: problem, fix };
    }),
  );
}

async function examineItself({ port }: ConsoleEnvironment): Promise<Finding[]> {
  const [subject, check] = [CONSOLE_NAME, 'ready'];
  const url = `http://127.0.0.1:${port}`;
  if ((await problemAt(`${url}/health`)) !== undefined)
    return [
      { subject, check, state: 'skipped', detail: `nothing answers at ${url}: the console does not run` },
    ];
  const problem = await problemAt(`${url}/ready`);
  return [
    problem === undefined
      ? { subject, check, state: 'ok', detail: `serves at ${url}` }
      : { subject, check, state: 'failed', detail: problem },
  ];
}

/** Why a URL does not answer 2xx; undefined when it does. */
async function problemAt(
  url: string,
  send: TlsFetch = createClient('configured'),
): Promise<string | undefined> {
  try {
    const response = await send(url, { signal: AbortSignal.timeout(HTTP_MS) });
    const text = (await response.text()).slice(0, 300);
    return response.ok ? undefined : `${url} answers ${response.status} ${text}`;
  } catch (error) {
    const fault = tlsFault(error, { ca: 'console.tls.ca_file', cert: 'console.tls.cert_file' });
    if (fault) return `${url}: ${fault.what}: ${fault.remedy}`;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return `${url} does not answer: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`;
  }
}
