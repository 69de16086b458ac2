import { readFileSync } from 'node:fs';
import { readTls, type TlsCheck, type TlsFiles, type TlsMaterial } from './certificates.ts';

/** The time between two looks at the files, ms. */
export const LOOK_EVERY_MS = 10_000;

interface Clock {
  now(): number;
  timer(run: () => void, ms: number): Disposable;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Files that may be renewed while they are used. */
export interface WatchedTls extends Disposable {
  /** The newest valid content. */
  current(): TlsMaterial;
  /** `use` is called after every renewal; disposing the result ends that. */
  onRenewed(use: (material: TlsMaterial) => void): Disposable;
}

export interface WatchTlsOptions {
  /** The configuration key of the files, such as `fleet.server.tls`. */
  readonly key: string;
  readonly files: TlsFiles;
  readonly check: Omit<TlsCheck, 'now'>;
  /** The content that the start has checked. */
  readonly material: TlsMaterial;
  readonly clock: Clock;
  readonly log: Log;
  readonly lookEveryMs?: number;
}

/**
 * Looks at the files from time to time and takes over a renewed certificate without a restart. Files that are not valid, for
 * example because only one of them was replaced yet, are logged once; the old ones stay in use. It compares contents, so it
 * sees a renewal through symbolic links too, as Kubernetes mounts a Secret.
 */
export function watchTls(options: WatchTlsOptions): WatchedTls {
  const { key, files, check, clock, log, lookEveryMs = LOOK_EVERY_MS } = options;
  const users = new Set<(material: TlsMaterial) => void>();
  let material = options.material;
  let seen = textOf([material.ca, material.cert, material.key]);
  let timer = clock.timer(look, lookEveryMs);

  function look(): void {
    timer = clock.timer(look, lookEveryMs);
    const text = textOf([files.caFile, files.certFile, files.keyFile].map(contentOf));
    if (text === seen) return;
    seen = text;
    const reading = readTls(files, { ...check, now: clock.now() });
    if (reading.material === undefined) {
      const problems = reading.problems.map((each) => `${key}.${each.key}: ${each.reason}`);
      log.warn({ problems }, `${key}: the changed files are not used, the earlier ones stay in use`);
      return;
    }
    material = reading.material;
    const until = material.expiresAt === undefined ? undefined : new Date(material.expiresAt).toISOString();
    log.info({ expires_at: until }, `${key}: the renewed files are in use`);
    for (const each of reading.warnings) log.warn({}, `${key}.${each.key}: ${each.reason}`);
    for (const use of users) use(material);
  }

  return {
    current: () => material,
    onRenewed(use) {
      users.add(use);
      return { [Symbol.dispose]: () => void users.delete(use) };
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
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
