import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate and its key, in files. */
export interface TestCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** Default: localhost and 127.0.0.1. */
  readonly names?: string;
  /** Default: both. */
  readonly purposes?: string;
  /** From and to, ms from now; default: an hour ago, and 30 days. */
  readonly valid?: readonly [number, number];
}

/** A certification authority of one test, made by openssl. */
export interface TestAuthority {
  readonly caFile: string;
  readonly ca: string;
  /** The folder of its files. */
  readonly dir: string;
  issue(name: string, options?: CertificateOptions): TestCertificate;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
export const EXPIRED = [-3 * DAY_MS, -DAY_MS] as const;
export const NOT_YET_VALID = [DAY_MS, 3 * DAY_MS] as const;

const openssl = (dir: string, ...args: string[]): void =>
  void execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Makes an authority in a folder that goes with the test. */
export function createAuthority(t: { after(run: () => void): void }, name = 'Test CA'): TestAuthority {
  const dir = mkdtempSync(join(tmpdir(), 'fleet-ca-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  openssl(dir, 'req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', `/CN=${name}`);
  const config = [
    ...['[ca]', 'default_ca=d', '[d]', 'database=index.txt', 'serial=serial', 'new_certs_dir=.'],
    ...[
      'default_md=sha256',
      'policy=p',
      'unique_subject=no',
      'rand_serial=yes',
      '[p]',
      'commonName=supplied',
    ],
  ];
  writeFileSync(join(dir, 'ca.cnf'), `${config.join('\n')}\n`);
  writeFileSync(join(dir, 'index.txt'), '');
  const caFile = join(dir, 'ca.pem');
  return {
    caFile,
    ca: readFileSync(caFile, 'utf8'),
    dir,
    issue(own, options = {}) {
      const { names = 'DNS:localhost,IP:127.0.0.1', purposes = 'serverAuth,clientAuth', valid } = options;
      const [from, to] = valid ?? [-HOUR_MS, 30 * DAY_MS];
      const at = (ms: number): string => new Date(Date.now() + ms).toISOString().replace(/[-:T]|\.\d+/g, '');
      openssl(dir, 'req', ...newKey, '-keyout', `${own}.key`, '-out', `${own}.csr`, '-subj', `/CN=${own}`);
      writeFileSync(join(dir, `${own}.ext`), `subjectAltName=${names}\nextendedKeyUsage=${purposes}\n`);
      openssl(
        dir,
        ...['ca', '-batch', '-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key', '-notext'],
        ...['-in', `${own}.csr`, '-out', `${own}.pem`, '-extfile', `${own}.ext`],
        ...['-startdate', at(from), '-enddate', at(to)],
      );
      const [certFile, keyFile] = [join(dir, `${own}.pem`), join(dir, `${own}.key`)];
      return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    },
  };
}
