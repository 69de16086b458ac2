import { resolve } from 'node:path';
import type { Credentials, FleetConfig } from '@hermes-fleet/fleet-config';
import {
  type CertificateTimes,
  createRenewedTls,
  type RenewedTlsOptions,
  readTls,
  type TlsFiles,
  type TlsProblem,
  type TlsSource,
} from '@hermes-fleet/net/tls';
import type { FieldError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';

/** Where a certificate is used, as metrics name it. */
const USES = ['server', 'client', 'nats'] as const;
export type TlsUse = (typeof USES)[number];

type Checked = Pick<RenewedTlsOptions, 'files' | 'check' | 'material' | 'key' | 'keyOf'>;

/** The certificates that fleet.yaml names, by their use. */
export type Certificates = Readonly<Partial<Record<TlsUse, Checked>>>;

interface Wanted {
  readonly use: TlsUse;
  readonly key: string;
  readonly keyOf: (problem: TlsProblem) => string;
  readonly files: TlsFiles;
  readonly check: Checked['check'];
}

/**
 * Reads and checks every certificate that fleet.yaml names, and reports all problems at once. Relative paths begin at the
 * folder of fleet.yaml; the path of a problem is the key there.
 */
export function readCertificates(config: FleetConfig, dir: string, now: number) {
  const certificates: Partial<Record<TlsUse, Checked>> = {};
  const problems: FieldError[] = [];
  const warnings: string[] = [];
  for (const { use, ...wanted } of wantedBy(config, dir)) {
    const reading = readTls(wanted.files, { ...wanted.check, now });
    const { material } = reading;
    problems.push(...reading.problems.map((each) => ({ path: wanted.keyOf(each), reason: each.reason })));
    warnings.push(...reading.warnings.map((each) => `${wanted.keyOf(each)}: ${each.reason}`));
    if (material) certificates[use] = { ...wanted, material };
  }
  return { certificates, problems, warnings };
}

function wantedBy({ fleet: { server, tls, nats } }: FleetConfig, dir: string): Wanted[] {
  const at = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(dir, file);
  const wanted: Wanted[] = [];
  if (server?.tls) {
    const { cert_file: certFile, key_file: keyFile, client_ca_file: clientCa } = server.tls;
    const { public_url: publicUrl } = server;
    const name = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
    const host = name === undefined ? undefined : { name, key: 'fleet.server.public_url' };
    wanted.push({
      use: 'server',
      key: 'fleet.server.tls',
      keyOf: ({ key }) => `fleet.server.tls.${key === 'ca_file' ? 'client_ca_file' : key}`,
      files: { caFile: at(clientCa), certFile: at(certFile), keyFile: at(keyFile) },
      check: { use: 'server', host },
    });
  }
  for (const [use, key, files] of [
    ['client', 'fleet.tls', tls],
    ['nats', 'fleet.nats.tls', nats?.tls],
  ] as const)
    if (files)
      wanted.push({
        use,
        key,
        keyOf: (problem) => `${key}.${problem.key}`,
        files: { caFile: at(files.ca_file), certFile: at(files.cert_file), keyFile: at(files.key_file) },
        check: { use: 'client' },
      });
  return wanted;
}

/** The certificates of a running member, renewed as their files are. */
export type MemberTls = Readonly<Partial<Record<TlsUse, TlsSource>>>;

export function renewCertificates(certificates: Certificates, deps: { clock: Clock; log: Log }): MemberTls {
  const entries = Object.entries(certificates).map(([use, each]) => [
    use,
    createRenewedTls({ ...each, ...deps }),
  ]);
  return Object.fromEntries(entries);
}

/** The credentials with the certificates of the connection to the broker. */
export const withBusTls = (credentials: Credentials, { nats }: MemberTls): Credentials =>
  nats === undefined ? credentials : { ...credentials, bus: { ...credentials.bus, tls: nats } };

/** When each certificate is due for renewal and expires. */
export function timesOf(tls: MemberTls): [use: TlsUse, times: CertificateTimes][] {
  return USES.flatMap((use) => {
    const times = tls[use]?.current().times;
    return times === undefined ? [] : [[use, times]];
  });
}
