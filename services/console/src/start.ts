import { join } from 'node:path';
import { type BusConnection, inboxPrefix } from '@hermes-fleet/events';
import type { TlsSource } from '@hermes-fleet/net/tls';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import {
  createLogger,
  createSecretEnv,
  type Host,
  loadYamlConfig,
  onShutdown,
  type SecretEnv,
} from '@hermes-fleet/service';
import { createConsole } from './compose.ts';
import { readCertificates } from './config/certificates.ts';
import { ConsoleConfigSchema } from './config/schema.ts';
import { CONSOLE_NAME, type ConsoleEnvironment } from './environment.ts';
import { CONTENT_SECURITY_POLICY, readStaticFiles } from './web/static-files.ts';

const STOP_MS = 10_000;
const MIN_SECRET_CHARS = 16;

/**
 * Starts the console: configuration, ownership, read model, HTTP, and the readers of the bus (docs/console.md). Serves also
 * while the bus is away. A start that throws leaves no listener and no lock behind.
 */
export async function startConsole(
  environment: ConsoleEnvironment,
  processEnv: NodeJS.ProcessEnv,
  host: Host = {},
): Promise<void> {
  const log = createLogger({ name: CONSOLE_NAME, level: environment.logLevel, stream: host.output });
  const env = createSecretEnv(processEnv);
  const file = join(environment.dir, 'console.yaml');
  const { console: config } = loadYamlConfig({ file, schema: ConsoleConfigSchema, env }).value;
  const loginSecret = readLoginSecret(env);

  await using opened = new AsyncDisposableStack();
  const { stateDir, revision } = environment;
  const tls = readCertificates(config, environment.dir, { clock: systemClock, log });
  const connection = connectionOf(config.nats.servers, env, tls.nats);
  const web = { files: readStaticFiles(), policy: CONTENT_SECURITY_POLICY };
  const made = createConsole(
    { config, stateDir, revision, connection, tls: tls.members, loginSecret, clock: systemClock, log, web },
    opened,
  );
  await listen(made.app, environment);
  opened.move();
  const { signals, exit } = host;
  onShutdown({ log, graceMs: STOP_MS, steps: made.steps, signals, exit });
}

/** The secret that makes codes. Throws CONFIG_INVALID without a usable one. */
export function readLoginSecret(env: SecretEnv): string {
  const secret = env.read('CONSOLE_LOGIN');
  if (secret !== undefined && secret.length >= MIN_SECRET_CHARS) return secret;
  throw new FleetError(
    'CONFIG_INVALID',
    `CONSOLE_LOGIN is missing or has fewer than ${MIN_SECRET_CHARS} characters: run \`fleet keys init\`, which makes it`,
  );
}

/** The login of the console at these servers. */
export function connectionOf(
  servers: readonly string[],
  env: SecretEnv,
  tls: TlsSource | undefined,
): BusConnection {
  const user = env.read('NATS_USER');
  const login =
    user === undefined ? {} : { user, pass: env.read('NATS_PASSWORD') ?? '', inboxPrefix: inboxPrefix(user) };
  return { servers, name: CONSOLE_NAME, ...login, ...(tls && { tls }) };
}

/** Opens the listener of the console. Throws BIND_FAILED with address and reason. */
async function listen(
  app: { listen(at: { host: string; port: number }): PromiseLike<unknown> },
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
  } catch (cause) {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    const reason = isTaken ? 'another process listens there' : String(cause);
    throw new FleetError('BIND_FAILED', `the console cannot listen on ${host}:${port}: ${reason}`, { cause });
  }
}
