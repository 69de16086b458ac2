import { createHash } from 'node:crypto';
import { FleetError } from '@hermes-fleet/protocol';
import { CONSOLE, checkServices, keyPaths, mayCall, OPERATOR, SETUP, tokenVariable } from './layout.ts';
import { type NatsSettings, renderBusClusterConfig, renderBusConfig } from './nats-config.ts';
import { type Replica, replicasOf } from './replicas.ts';
import { type Change, keepSecret, type Owner, putSecret, readSecret, secretFolder } from './secret-file.ts';

export interface KeysOptions {
  readonly dir: string;
  readonly services: readonly string[];
  /** The numbers of replicas by service; those that have keys already keep them. */
  readonly replicas?: ReadonlyMap<string, number>;
  /** Owner of the files; the current user by default. */
  readonly owner?: Owner;
  readonly nats: NatsSettings;
  /** Replaces every token and password. Running services use the old ones until they restart. */
  readonly renew?: boolean;
}

/** Number of files by what happened to them. */
export type KeysSummary = Readonly<Record<Change, number>>;

/** The form in which a receiver stores a token that it accepts. */
export const tokenHash = (token: string): string =>
  `sha256:${createHash('sha256').update(token).digest('hex')}`;

/**
 * Creates missing keys and repairs inconsistent ones; running it again changes nothing (docs/operations.md#keys). Every
 * pair of caller and receiver has its own token, which the receiver stores as a hash. Every service has a NATS user, as
 * do its replicas, the operator and the console, which read events, and the setup user, who creates streams. The console's
 * folder also has CONSOLE_LOGIN, the secret that makes links to it. With `nats.cluster`, now or in an earlier run, there is
 * nats-cluster.conf beside nats.conf. Throws CONFIG_INVALID.
 */
export function initKeys(options: KeysOptions): KeysSummary {
  checkServices(options.services);
  const { dir, services, owner } = options;
  const paths = keyPaths(dir);
  const counts = { created: 0, repaired: 0, kept: 0 };
  const secret = (file: string): string => {
    const { value, change } = keepSecret(file, owner, { renew: options.renew ?? false });
    counts[change]++;
    return value;
  };
  const put = (file: string, value: string): void => {
    counts[putSecret(file, value, owner)]++;
  };

  secretFolder(dir);
  for (const reader of [...services, OPERATOR, SETUP, CONSOLE]) secretFolder(paths.folder(reader), owner);
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
  secret(paths.consoleLogin);
  const users = [...services, OPERATOR, SETUP, CONSOLE].map((user) => {
    put(paths.variable(user, 'NATS_USER'), user);
    return { user, password: secret(paths.variable(user, 'NATS_PASSWORD')) };
  });
  const replicas = replicasOf(services, options.replicas ?? new Map(), paths);
  checkReplicas(replicas, services);
  for (const { service, name } of replicas) {
    put(paths.variable(service, `${name}.NATS_USER`), name);
    users.push({ user: name, password: secret(paths.variable(service, `${name}.NATS_PASSWORD`)) });
  }
  put(paths.natsConfig, renderBusConfig(options.nats, users));
  const servers = options.nats.cluster ?? readSecret(paths.natsServers)?.split(',');
  if (servers) {
    const config = renderBusClusterConfig(options.nats, servers, secret(paths.natsRoutePassword));
    put(paths.natsClusterConfig, config);
    put(paths.natsServers, servers.join(','));
  }
  return counts;
}

/** Two members of one name would publish each other's events. */
function checkReplicas(replicas: readonly Replica[], services: readonly string[]): void {
  const fields = replicas.flatMap(({ name }) =>
    services.includes(name) ? [{ path: name, reason: 'is a service and a replica: rename the service' }] : [],
  );
  if (fields.length > 0) throw new FleetError('CONFIG_INVALID', 'these names are taken', { fields });
}
