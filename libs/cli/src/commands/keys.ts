import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { readOptions, repositoryRoot, UsageError, wholeNumber } from '../command-line/options.ts';
import { initKeys, readOperatorToken } from '../keys/init.ts';
import { DEFAULT_SERVICES } from '../keys/layout.ts';
import type { Owner } from '../keys/secret-file.ts';

const OPTIONS = {
  dir: { type: 'string' },
  services: { type: 'string' },
  owner: { type: 'string' },
  'nats-store-dir': { type: 'string' },
  'nats-host': { type: 'string' },
  'nats-port': { type: 'string' },
  'nats-monitor-port': { type: 'string' },
  'nats-sync': { type: 'string' },
} as const;

/** `fleet keys init|rotate|token`. The folder is `--dir`, else FLEET_KEYS_DIR, else `.fleet/keys`. */
export function keysCommand(argv: readonly string[], env: NodeJS.ProcessEnv): number {
  const { values, positionals } = readOptions(argv, OPTIONS);
  const [verb = '', ...more] = positionals;
  if (more.length > 0) throw new UsageError(`keys ${verb} takes no "${more.join(' ')}"`);
  const dir = values.dir ?? env.FLEET_KEYS_DIR ?? join(repositoryRoot(), '.fleet/keys');
  if (verb === 'token') {
    const token = readOperatorToken(dir);
    if (token === undefined) {
      throw new FleetError('CONFIG_INVALID', `no keys in ${dir}: make up (or fleet keys init) creates them`);
    }
    process.stdout.write(`${token}\n`);
    return 0;
  }
  if (verb !== 'init' && verb !== 'rotate') throw new UsageError(`no such command: keys ${verb}`);
  const owner = parseOwner(values.owner);
  const sync = values['nats-sync'] ?? 'always';
  if (sync !== 'always' && sync !== 'interval')
    throw new UsageError('--nats-sync must be always or interval');
  const summary = initKeys({
    dir,
    services: values.services?.split(',').map((name) => name.trim()) ?? DEFAULT_SERVICES,
    ...(owner === undefined ? {} : { owner }),
    nats: {
      storeDir: values['nats-store-dir'] ?? '/data',
      host: values['nats-host'] ?? '0.0.0.0',
      port: wholeNumber('nats-port', values['nats-port'], 4222),
      monitorPort: wholeNumber('nats-monitor-port', values['nats-monitor-port'], 8222),
      syncAlways: sync === 'always',
    },
    renew: verb === 'rotate',
  });
  process.stdout.write(
    `keys: ${summary.created} created, ${summary.repaired} repaired, ${summary.kept} unchanged\n` +
      (verb === 'rotate' ? 'restart NATS and every service: they use the old keys until then\n' : ''),
  );
  return 0;
}

function parseOwner(text: string | undefined): Owner | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d+):(\d+)$/.exec(text);
  if (!match) throw new UsageError('--owner must be <uid>:<gid>, e.g. 1000:1000');
  return { uid: Number(match[1]), gid: Number(match[2]) };
}
