import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readTls } from '@hermes-fleet/net/tls';
import { FleetError } from '@hermes-fleet/protocol';
import { certificateFiles, certificateVariables, useCertificates } from '../client/tls.ts';
import { UsageError } from '../command-line/option-values.ts';
import type { WorkerState } from './worker-home.ts';

/**
 * The certificate with which the worker serves https; undefined without one. Throws UsageError when one of the two files is
 * missing, and CONFIG_INVALID for files that cannot be used.
 */
export function servedCertificate(
  cert: string | undefined,
  key: string | undefined,
): WorkerState['serverTls'] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new UsageError('--cert-file and --key-file are given together');
  const files = { certFile: resolve(cert), keyFile: resolve(key) };
  const { problems } = readTls(files, { use: 'server', now: Date.now() });
  if (problems.length > 0)
    throw new FleetError('CONFIG_INVALID', 'the worker cannot serve https with this certificate', {
      fields: problems.map(({ key: file, reason }) => ({ path: `--${file.replace('_', '-')}`, reason })),
    });
  return { cert_file: files.certFile, key_file: files.keyFile };
}

/** The files of FLEET_CA_FILE, FLEET_CERT_FILE and FLEET_KEY_FILE, which the gateway uses for its connections as well. */
export const clientCertificate = (env: NodeJS.ProcessEnv): WorkerState['tls'] =>
  Object.keys(certificateFiles(env)).length > 0 ? certificateFiles(env) : undefined;

/** Makes the command use the files of a worker that joined with them, where the environment names no other ones. */
export function useCertificatesOf({ tls = {} }: WorkerState, env: NodeJS.ProcessEnv): void {
  useCertificates({ ...certificateVariables(tls), ...env });
}

/** The options of a server that shows the certificate; undefined where the worker serves plain http. */
export const serverOptions = (served: WorkerState['serverTls']) =>
  served && { cert: readFileSync(served.cert_file), key: readFileSync(served.key_file) };
