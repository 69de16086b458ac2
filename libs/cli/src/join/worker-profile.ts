import { cpSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asset } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { isMap, parseDocument } from 'yaml';
import { type WorkerHome, type WorkerState, workerVariables } from './worker-home.ts';

/** The profile of a worker without `--profile-dir`. */
const TEMPLATE = asset('worker-profile');
/** What a profile folder has beside `fleet.yaml`; the folder `agents` has sub-agents. */
const FILES = ['config.yaml', 'IDENTITY.md', 'agents'];

/**
 * Writes the profile folder of a worker: `config.yaml`, `IDENTITY.md` and `agents` of `from`, and its `fleet.yaml` with the
 * addresses, callers and peers of this worker in place of those that it has (docs/peering.md#joining). Throws CONFIG_INVALID
 * when `from` is not a profile folder.
 */
export function writeProfile(
  home: WorkerHome,
  state: WorkerState,
  { from = TEMPLATE, tier }: { readonly from?: string | undefined; readonly tier: string },
): void {
  const source = (file: string): string => join(from, file);
  for (const file of ['fleet.yaml', 'config.yaml', 'IDENTITY.md'])
    if (!existsSync(source(file)))
      throw new FleetError('CONFIG_INVALID', `${from} is not the folder of a profile: it has no ${file}`);
  for (const file of FILES)
    if (existsSync(source(file))) cpSync(source(file), join(home.profileDir, file), { recursive: true });
  const identity = join(home.profileDir, 'IDENTITY.md');
  put(identity, readFileSync(source('IDENTITY.md'), 'utf8').replace(/^name:.*$/m, `name: ${state.name}`));
  put(
    join(home.profileDir, 'fleet.yaml'),
    fleetYaml(readFileSync(source('fleet.yaml'), 'utf8'), state, tier),
  );
}

/** The text of a profile's fleet.yaml as this worker has it: whose worker it is replaces whose peer it was. */
export function fleetYaml(shipped: string, state: WorkerState, tier: string): string {
  const document = parseDocument(shipped);
  if (document.errors.length > 0 || !isMap(document.get('fleet')))
    throw new FleetError(
      'CONFIG_INVALID',
      'the fleet.yaml of the profile is not valid YAML with the key fleet',
    );
  const { presents, accepts, operator } = workerVariables(state);
  const { orchestrator, endpoint, bind, tls, serverTls } = state;
  for (const key of ['orchestrate', 'join', 'nats', 'tls']) document.deleteIn(['fleet', key]);
  document.setIn(['fleet', 'enabled'], true);
  document.setIn(['fleet', 'tier'], tier);
  const { host } = new URL(endpoint);
  const server = {
    bind_host: bind.host,
    bind_port: bind.port,
    public_url: endpoint,
    allowed_hosts: [...new Set(['127.0.0.1', 'localhost', host.replace(/:\d+$/, '')])],
    auth_required: true,
    ...(serverTls && { tls: serverTls }),
    callers: {
      operator: { token_env: operator, scopes: ['announce', 'dispatch', 'read', 'join', 'operate'] },
      [orchestrator.name]: { token_env: accepts, scopes: ['announce', 'dispatch', 'read'] },
    },
  };
  document.setIn(['fleet', 'server'], document.createNode(server));
  const agents = { [orchestrator.name]: { url: orchestrator.url, token_env: presents } };
  document.setIn(['fleet', 'agents'], document.createNode(agents));
  if (tls) document.setIn(['fleet', 'tls'], document.createNode(tls));
  return document.toString();
}

function put(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, text, { mode: 0o644, flush: true });
  renameSync(`${file}.tmp`, file);
}
