import { resolve } from 'node:path';
import { readTls, type TlsProblem, type TlsSource } from '@hermes-fleet/net/tls';
import { FleetError } from '@hermes-fleet/protocol';

/** The variables that name the certificates of the command's own connections (docs/cli.md#tls). */
const VARIABLES = {
  ca_file: 'FLEET_CA_FILE',
  cert_file: 'FLEET_CERT_FILE',
  key_file: 'FLEET_KEY_FILE',
} as const;

export const TLS_KEYS = { ca: VARIABLES.ca_file, cert: VARIABLES.cert_file };

/** The files that the environment names, as absolute paths. */
export function certificateFiles(env: NodeJS.ProcessEnv): Partial<Record<TlsProblem['key'], string>> {
  const named = Object.entries(VARIABLES).flatMap(([key, variable]) => {
    const file = env[variable];
    return file ? [[key, resolve(file)] as const] : [];
  });
  return Object.fromEntries(named);
}

/** The variables that name these files. */
export const certificateVariables = (files: Partial<Record<TlsProblem['key'], string | undefined>>) =>
  Object.fromEntries(
    Object.entries(VARIABLES).flatMap(([key, variable]) => {
      const file = files[key as TlsProblem['key']];
      return file === undefined ? [] : [[variable, file]];
    }),
  );

let source: TlsSource | undefined;

/** Takes the certificates of the environment into use for the whole command. Throws CONFIG_INVALID. */
export function useCertificates(env: NodeJS.ProcessEnv): void {
  const { ca_file: caFile, cert_file: certFile, key_file: keyFile } = certificateFiles(env);
  const files = { caFile, certFile, keyFile };
  source = undefined;
  if (Object.values(files).every((file) => file === undefined)) return;
  const { material, problems } = readTls(files, { use: 'client', now: Date.now() });
  const fields = problems.map(({ key, reason }) => ({ path: VARIABLES[key], reason }));
  if ((files.certFile === undefined) !== (files.keyFile === undefined)) {
    const [missing, given] =
      files.certFile === undefined
        ? (['cert_file', 'key_file'] as const)
        : (['key_file', 'cert_file'] as const);
    fields.push({ path: VARIABLES[missing], reason: `is required with ${VARIABLES[given]}` });
  }
  if (material === undefined || fields.length > 0)
    throw new FleetError('CONFIG_INVALID', 'the certificates of the environment cannot be used', { fields });
  source = { current: () => material };
}

/** The certificates of the environment; undefined without any. */
export const ownTls = (): TlsSource | undefined => source;
