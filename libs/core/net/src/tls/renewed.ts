import { readFileSync } from 'node:fs';
import { readTls, type TlsCheck, type TlsFiles, type TlsMaterial, type TlsProblem } from './certificates.ts';

/** The least time between two looks at the files, ms. */
const LOOK_EVERY_MS = 10_000;

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Where a connection gets its certificates. */
export interface TlsSource {
  /** The newest valid content; the same object until it is renewed. */
  current(): TlsMaterial;
}

export interface RenewedTlsOptions {
  readonly files: TlsFiles;
  readonly check: Omit<TlsCheck, 'now'>;
  /** The content that the start has checked. */
  readonly material: TlsMaterial;
  /** The configuration key of the files, such as `fleet.server.tls`. */
  readonly key: string;
  /** The configuration key of a problem. */
  readonly keyOf: (problem: TlsProblem) => string;
  readonly clock: { now(): number };
  readonly log: Log;
  readonly lookEveryMs?: number;
}

/**
 * Files that may be renewed while they are used: `current` looks at them, at most every 10 s. Files that are not valid, for
 * example because only one of them was replaced yet, are logged once; the old ones stay in use. It compares contents, so it
 * sees a renewal through symbolic links too, as Kubernetes mounts a Secret.
 */
export function createRenewedTls(options: RenewedTlsOptions): TlsSource {
  const { files, check, key, keyOf, clock, log, lookEveryMs = LOOK_EVERY_MS } = options;
  let { material } = options;
  let seen = textOf([material.ca, material.cert, material.key]);
  let lookedAt = Number.NEGATIVE_INFINITY;

  function look(now: number): void {
    const text = textOf([files.caFile, files.certFile, files.keyFile].map(contentOf));
    if (text === seen) return;
    seen = text;
    const reading = readTls(files, { ...check, now });
    const said = (each: TlsProblem): string => `${keyOf(each)}: ${each.reason}`;
    if (reading.material === undefined) {
      const problems = reading.problems.map(said);
      log.warn({ problems }, `${key}: the changed files are not used, the earlier ones stay in use`);
      return;
    }
    material = reading.material;
    const { times } = material;
    const until = times && new Date(times.expiresAt).toISOString();
    log.info({ expires_at: until }, `${key}: the renewed files are in use`);
    for (const each of reading.warnings) log.warn({}, said(each));
  }

  return {
    current() {
      const now = clock.now();
      if (Math.abs(now - lookedAt) >= lookEveryMs) {
        lookedAt = now;
        look(now);
      }
      return material;
    },
  };
}

const textOf = (contents: readonly (string | undefined)[]): string =>
  contents.map((content) => content ?? '').join('\0');

/** The content of a file; undefined when it cannot be read. */
function contentOf(file: string | undefined): string | undefined {
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
