import { resolve } from 'node:path';
import { createRenewedTls, readTls, type TlsSource } from '@hermes-fleet/net/tls';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { ConsoleConfig } from './schema.ts';

/** The certificates of console.yaml. */
export interface ConsoleTls {
  readonly members: TlsSource | undefined;
  readonly nats: TlsSource | undefined;
}

/** Reads the certificates that console.yaml names. Throws CONFIG_INVALID with every problem. */
export function readCertificates(
  { tls, nats }: Pick<ConsoleConfig, 'tls' | 'nats'>,
  dir: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): ConsoleTls {
  const fields: { path: string; reason: string }[] = [];
  const read = (key: string, given: ConsoleConfig['tls']): TlsSource | undefined => {
    if (given === undefined) return undefined;
    const at = (file: string | undefined): string | undefined =>
      file === undefined ? undefined : resolve(dir, file);
    const files = { caFile: at(given.ca_file), certFile: at(given.cert_file), keyFile: at(given.key_file) };
    const check = { use: 'client' } as const;
    const { material, problems, warnings } = readTls(files, { ...check, now: clock.now() });
    const keyOf = (problem: { readonly key: string }): string => `${key}.${problem.key}`;
    fields.push(...problems.map((each) => ({ path: keyOf(each), reason: each.reason })));
    for (const each of warnings) log.warn({}, `${keyOf(each)}: ${each.reason}`);
    return material && createRenewedTls({ files, check, material, key, keyOf, clock, log });
  };
  const found = { members: read('console.tls', tls), nats: read('console.nats.tls', nats.tls) };
  if (fields.length === 0) return found;
  throw new FleetError('CONFIG_INVALID', 'certificates of console.yaml cannot be used', { fields });
}
