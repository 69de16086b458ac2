import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

/** The PEM files of one end of a connection, as absolute paths. */
export interface TlsFiles {
  /** Issuers to trust, beside those that Node trusts. */
  readonly caFile?: string | undefined;
  /** The certificate, followed by its intermediates. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** The content of valid files. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Undefined without a certificate. */
  readonly times?: CertificateTimes;
}

/** The times of a certificate with its intermediates, ms since the epoch. */
export interface CertificateTimes {
  readonly expiresAt: number;
  /** From then on it is worth a warning that the certificate has not been renewed. */
  readonly renewBy: number;
}

export type TlsFileKey = 'ca_file' | 'cert_file' | 'key_file';

export interface TlsProblem {
  readonly key: TlsFileKey;
  /** Names the file. */
  readonly reason: string;
}

export interface TlsCheck {
  readonly use: 'server' | 'client';
  /** ms since the epoch. */
  readonly now: number;
  /** The name or address that the certificate must be for, and the configuration key that has it. */
  readonly host?: { readonly name: string; readonly key: string } | undefined;
}

export interface TlsReading {
  /** Undefined when there are problems. */
  readonly material: TlsMaterial | undefined;
  readonly problems: readonly TlsProblem[];
  readonly warnings: readonly TlsProblem[];
}

/**
 * A certificate is due for renewal in the last 14 days, and in the last fifth of its time, which is later for one that is valid
 * for days or hours: what renews certificates does so at two thirds of their time.
 */
const LONGEST_NOTICE_MS = 14 * 86_400_000;
const NOTICE_SHARE = 0.2;

const PURPOSES = {
  server: { oid: '1.3.6.1.5.5.7.3.1', name: 'serverAuth' },
  client: { oid: '1.3.6.1.5.5.7.3.2', name: 'clientAuth' },
} as const;
/** The extended key usage of every purpose. */
const ANY_PURPOSE = '2.5.29.37.0';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * Reads the files and checks them as the other end of a connection would: dates, key, purpose and name (RFC 5280, RFC 9525).
 * Reports every problem at once.
 */
export function readTls(files: TlsFiles, check: TlsCheck): TlsReading {
  const problems: TlsProblem[] = [];
  const warnings: TlsProblem[] = [];
  const read = (key: TlsFileKey, file: string | undefined): string | undefined => {
    if (file === undefined) return undefined;
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : error;
      problems.push({ key, reason: `${file} cannot be read (${code})` });
      return undefined;
    }
  };
  const ca = read('ca_file', files.caFile);
  const cert = read('cert_file', files.certFile);
  const key = read('key_file', files.keyFile);
  if (ca !== undefined) problems.push(...checkIssuers(`${files.caFile}`, ca, check.now));
  const chain = cert === undefined ? undefined : parseCertificates(cert);
  if (chain !== undefined) {
    const found = checkChain(`${files.certFile}`, chain, check);
    problems.push(...found.problems);
    warnings.push(...found.warnings);
  }
  if (key !== undefined) problems.push(...checkKey(`${files.keyFile}`, key, `${files.certFile}`, chain?.[0]));
  const times = chain && {
    expiresAt: Math.min(...chain.map(expiryOf)),
    renewBy: Math.min(...chain.map(renewByOf)),
  };
  const material: TlsMaterial = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(times === undefined ? {} : { times }),
  };
  return { material: problems.length > 0 ? undefined : material, problems, warnings };
}

/** Every certificate of a PEM text; empty when one of them cannot be parsed. */
export function parseCertificates(pem: string): X509Certificate[] {
  try {
    return (pem.match(CERTIFICATE) ?? []).map((text) => new X509Certificate(text));
  } catch {
    return [];
  }
}

const expiryOf = (certificate: X509Certificate): number => certificate.validToDate.getTime();
function renewByOf(certificate: X509Certificate): number {
  const expiresAt = expiryOf(certificate);
  const validMs = expiresAt - certificate.validFromDate.getTime();
  return expiresAt - Math.min(LONGEST_NOTICE_MS, NOTICE_SHARE * validMs);
}
const dayOf = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');

function checkIssuers(file: string, pem: string, now: number): TlsProblem[] {
  const issuers = parseCertificates(pem);
  const key = 'ca_file';
  if (issuers.length === 0)
    return [{ key, reason: `${file} holds no certificate: it must have the CA's certificate in PEM` }];
  if (issuers.some((issuer) => expiryOf(issuer) > now)) return [];
  return [{ key, reason: `${file} holds expired certificates only: get the CA's new certificate` }];
}

function checkChain(
  file: string,
  chain: readonly X509Certificate[],
  { use, now, host }: TlsCheck,
): { problems: TlsProblem[]; warnings: TlsProblem[] } {
  const key = 'cert_file';
  const problems: TlsProblem[] = [];
  const warnings: TlsProblem[] = [];
  const [leaf] = chain;
  if (leaf === undefined) {
    const reason = `${file} holds no certificate: it must have the certificate in PEM, its intermediates after it`;
    return { problems: [{ key, reason }], warnings };
  }
  for (const [index, certificate] of chain.entries()) {
    const which = index === 0 ? file : `${file} has an intermediate certificate that`;
    if (expiryOf(certificate) <= now) {
      const reason = `${which} expired at ${dayOf(certificate.validToDate)}: renew it`;
      problems.push({ key, reason });
    } else if (renewByOf(certificate) < now) {
      const reason = `${which} expires at ${dayOf(certificate.validToDate)}: renew it before`;
      warnings.push({ key, reason });
    }
    if (certificate.validFromDate.getTime() > now) {
      const reason = `${which} is not valid before ${dayOf(certificate.validFromDate)}: is this machine's clock right?`;
      problems.push({ key, reason });
    }
  }
  const purpose = PURPOSES[use];
  const purposes: readonly string[] | undefined = leaf.keyUsage;
  if (purposes && !purposes.includes(purpose.oid) && !purposes.includes(ANY_PURPOSE)) {
    const reason = `${file} is not for a ${use}: its extended key usage lacks ${purpose.name}`;
    problems.push({ key, reason });
  }
  if (host !== undefined && !isFor(leaf, host.name)) {
    const reason = `${file} is not for ${host.name}, the host of ${host.key}, but for ${namesOf(leaf)}: get a certificate for it`;
    problems.push({ key, reason });
  }
  return { problems, warnings };
}

/** The common name does not count: clients ignore it (RFC 9525, section 6.3). */
function isFor(certificate: X509Certificate, host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '');
  return isIP(name) !== 0
    ? certificate.checkIP(name) !== undefined
    : certificate.checkHost(name, { subject: 'never' }) !== undefined;
}

export const namesOf = (certificate: Pick<X509Certificate, 'subjectAltName'>): string =>
  (certificate.subjectAltName ?? 'no name at all').replace(/[^\x20-\x7e]/g, '?').slice(0, 200);

function checkKey(
  file: string,
  pem: string,
  certFile: string,
  certificate: X509Certificate | undefined,
): TlsProblem[] {
  const key = 'key_file';
  if (/ENCRYPTED/.test(pem))
    return [
      {
        key,
        reason: `${file} is encrypted: store the key without a passphrase, readable by this user alone`,
      },
    ];
  let parsed: KeyObject;
  try {
    parsed = createPrivateKey(pem);
  } catch {
    return [{ key, reason: `${file} holds no private key in PEM` }];
  }
  if (certificate === undefined || certificate.checkPrivateKey(parsed)) return [];
  return [
    {
      key,
      reason: `${file} is not the key of the certificate in ${certFile}: they must be from one request`,
    },
  ];
}
