import { createHash, randomBytes } from 'node:crypto';
import { checkServices, keyPaths, mayCall, OPERATOR, SETUP, tokenVariable } from './layout.ts';
import { type NatsSettings, renderBusConfig } from './nats-config.ts';
import { type Change, keepSecret, type Owner, putSecret, readSecret, secretFolder } from './secret-file.ts';

export interface KeysOptions {
  readonly dir: string;
  readonly services: readonly string[];
  /** The user that reads the keys; who runs this when absent. */
  readonly owner?: Owner;
  readonly nats: NatsSettings;
  /** Makes every token and password anew. Running services know the old ones until they are restarted. */
  readonly renew?: boolean;
}

/** How many files were made, put right, and left alone. */
export type KeysSummary = Readonly<Record<Change, number>>;

/** The shortest token that services accept, in characters (libs/fleet refuses shorter ones). */
const MIN_LENGTH = 16;

const newToken = (): string => randomBytes(32).toString('base64url');
const usable = (value: string): boolean => value.length >= MIN_LENGTH && !/\s/.test(value);

/** What a receiver keeps of a token that it accepts. */
export const tokenHash = (token: string): string =>
  `sha256:${createHash('sha256').update(token).digest('hex')}`;

/**
 * Makes what is missing of the fleet's keys and puts right what does not fit; running it again changes nothing
 * (design 5, Containers). One token per caller and receiver; the receiver keeps a hash. One NATS user per service,
 * one that sets up the streams, one for the operator, who reads events. Throws CONFIG_INVALID.
 */
export function initKeys(options: KeysOptions): KeysSummary {
  checkServices(options.services);
  const { dir, services, owner } = options;
  const paths = keyPaths(dir);
  const counts = { created: 0, repaired: 0, kept: 0 };
  const accepts = options.renew ? () => false : usable;
  const secret = (file: string): string => {
    const { value, change } = keepSecret(file, newToken, owner, accepts);
    counts[change]++;
    return value;
  };
  const put = (file: string, value: string): void => {
    counts[putSecret(file, value, owner)]++;
  };

  secretFolder(dir, undefined);
  for (const reader of [...services, OPERATOR, SETUP]) secretFolder(paths.folder(reader), owner);
  secretFolder(paths.natsFolder, owner);

  const operatorHash = tokenHash(secret(paths.operatorToken));
  for (const to of services) {
    put(paths.variable(to, tokenVariable(OPERATOR, to)), operatorHash);
    for (const from of services) {
      if (!mayCall(from, to)) continue;
      const variable = tokenVariable(from, to);
      put(paths.variable(to, variable), tokenHash(secret(paths.variable(from, variable))));
    }
  }
  const users = [...services, OPERATOR, SETUP].map((user) => {
    put(paths.variable(user, 'NATS_USER'), user);
    return { user, password: secret(paths.variable(user, 'NATS_PASSWORD')) };
  });
  put(paths.natsConfig, renderBusConfig(options.nats, users));
  return counts;
}

/** The operator's token, or undefined where no keys have been made yet. */
export function readOperatorToken(dir: string): string | undefined {
  return readSecret(keyPaths(dir).operatorToken);
}
