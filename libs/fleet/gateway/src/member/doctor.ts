import { join } from 'node:path';
import { createA2AClient, type PeerEndpoint } from '@hermes-fleet/a2a';
import { type Credentials, type FleetConfig, resolveTokens } from '@hermes-fleet/fleet-config';
import { wellKnownCard } from '@hermes-fleet/peers';
import { FleetError, HANDSHAKE_EXTENSION, PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import type { Answer, DoctorReport as Report } from '@hermes-fleet/protocol/api';
import { systemClock as clock, systemIds as ids, silentLog } from '@hermes-fleet/protocol/ports';
import type { SecretEnv } from '@hermes-fleet/service';
import { examineBus } from '../doctor/examine-bus.ts';
import { type ExaminedPeer, examinePeer, type PeerCheckOptions } from '../doctor/examine-peer.ts';
import { examineSpending } from '../doctor/examine-spending.ts';
import { type Finding, findingsOn } from '../doctor/finding.ts';
import { busConnection } from './bus.ts';
import { type MemberTls, readCertificates, renewCertificates, withBusTls } from './certificates.ts';
import { type MemberConfiguration, readFleetYaml } from './configuration.ts';
import type { MemberEnvironment } from './environment.ts';
import { examineTls } from './examine-tls.ts';

/** The output of `--doctor`, printed as one line of JSON. */
export type DoctorReport = Answer<typeof Report>;

type ReadMember = Pick<MemberConfiguration, 'fleet' | 'credentials' | 'warnings' | 'certificates'> & {
  /** `budget` of config.yaml; absent for a member that spends no tokens. */
  readonly budget?: { readonly default?: number | undefined; readonly count_cache: boolean };
};

export interface ExamineMemberOptions<C extends ReadMember> {
  readonly environment: MemberEnvironment;
  readonly env: SecretEnv;
  /** The names of the files that it reads, for the report. */
  readonly files: string;
  /** Reads the files as a start does; throws CONFIG_INVALID. */
  read(): C;
  /** Checks what else the service connects to; called if its configuration is valid. */
  live?(configuration: C): Promise<readonly Finding[]>;
}

interface Readable {
  readonly config: FleetConfig;
  readonly credentials: Credentials;
  readonly tls: MemberTls;
}

/**
 * Checks the configuration as a start does, then the peers, and reports all problems at once
 * (docs/operations.md). It neither listens nor takes ownership, and only reads the ledger, so it may run beside the member
 * itself. It spends no token.
 */
export async function examineMember<C extends ReadMember>(
  options: ExamineMemberOptions<C>,
): Promise<DoctorReport> {
  const { name: profile } = options.environment;
  const { findings, readable, valid } = examineConfiguration(options);
  const own = valid ? options.live?.(valid) : undefined;
  const client = createA2AClient({
    clock,
    log: silentLog,
    extensions: [HANDSHAKE_EXTENSION],
    tls: readable?.tls.client,
  });
  const tls = readable ? examineTls({ ...readable, profile, client }) : [];
  const live = readable
    ? await examineFleet({
        profile,
        config: readable.config,
        credentials: withBusTls(readable.credentials, readable.tls),
        versions: PROTOCOL_VERSIONS,
        clock,
        ids,
        client,
      })
    : [];
  const all = [...findings, ...((await own) ?? []), ...(await tls), ...live];
  return { profile, ok: all.every(({ state }) => state !== 'failed'), findings: all };
}

/** The configuration errors of a start. Peers can be examined as soon as fleet.yaml alone is valid. */
function examineConfiguration<C extends ReadMember>(
  options: ExamineMemberOptions<C>,
): {
  findings: readonly Finding[];
  readable: Readable | undefined;
  valid?: C;
} {
  const findings = findingsOn('configuration');
  try {
    const valid = options.read();
    const { fleet, credentials, certificates, warnings, budget } = valid;
    const tls = renewCertificates(certificates, { clock, log: silentLog });
    findings.ok('files', `${options.files} in ${options.environment.dir}`);
    for (const warning of warnings) findings.warning('fleet.yaml', warning);
    const spent = budget ? examineBudget(options.environment, fleet, budget) : [];
    return { findings: [...findings.all, ...spent], readable: { config: fleet, credentials, tls }, valid };
  } catch (thrown) {
    const { fields, message } = configurationError(thrown);
    for (const { path, reason } of fields) findings.failed(path, reason);
    if (fields.length === 0) findings.failed('files', message);
    const readable = readFleet(options);
    if (!readable)
      findings.skipped('live checks', 'not tried: fleet.yaml must be valid before peers can be asked');
    return { findings: findings.all, readable };
  }
}

function examineBudget(
  { name: profile, stateDir }: MemberEnvironment,
  config: FleetConfig,
  budget: NonNullable<ReadMember['budget']>,
): readonly Finding[] {
  return examineSpending({
    profile,
    config,
    versions: PROTOCOL_VERSIONS,
    clock,
    ledgerFile: join(stateDir, 'ledger.db'),
    defaultBudget: budget.default,
    countCache: budget.count_cache,
    ownSpends: config.fleet.response_handler !== 'echo',
  });
}

function readFleet({
  environment,
  env,
}: Pick<ExamineMemberOptions<ReadMember>, 'environment' | 'env'>): Readable | undefined {
  try {
    const { value: config } = readFleetYaml(environment.dir, env);
    const { certificates } = readCertificates(config, environment.dir, clock.now());
    const tls = renewCertificates(certificates, { clock, log: silentLog });
    return { config, credentials: resolveTokens(config, env), tls };
  } catch (thrown) {
    configurationError(thrown);
    return undefined;
  }
}

/** Returns a configuration error and rethrows any other, which is a defect. */
function configurationError(thrown: unknown): FleetError {
  if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return thrown;
  throw thrown;
}

/**
 * The live checks of `fleet doctor`: every configured peer and the event bus, concurrently
 * (docs/operations.md#diagnose-a-profile-fleet-doctor). Spends no tokens, publishes nothing, and ends within about ten
 * seconds.
 */
async function examineFleet(
  options: PeerCheckOptions & Pick<Readable, 'config' | 'credentials'>,
): Promise<readonly Finding[]> {
  const { profile, config, credentials } = options;
  const { nats } = config.fleet;
  const connection = nats && busConnection(nats, `fleet/${profile}/doctor`, credentials.bus);
  const bus = connection ? examineBus({ profile, connection, clock }) : [];
  const peers = peersOf(options).map((peer) => examinePeer(options, peer));
  return (await Promise.all([...peers, bus])).flat();
}

function peersOf({ config, credentials }: Pick<Readable, 'config' | 'credentials'>): ExaminedPeer[] {
  return Object.entries(config.fleet.agents).map(([name, agent]) => {
    const { url = agent.url, token, cardUrl = wellKnownCard(agent.url) } = credentials.peers[name] ?? {};
    const endpoint: PeerEndpoint = { name, url, ...(token === undefined ? {} : { token }) };
    return { endpoint, cardUrl, tokenEnv: agent.token_env };
  });
}
