import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const compose = spawnSync('docker', ['compose', '--profile', '*', 'config', '--format', 'json'], {
  cwd: root,
  encoding: 'utf8',
});
const skip = compose.error || compose.status !== 0 ? 'docker compose is not installed' : false;

interface Service {
  image?: string;
  profiles?: string[];
  network_mode?: string;
  pull_policy?: string;
  build?: unknown;
  read_only?: boolean;
  init?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  user?: string;
  command?: string[];
  mem_limit?: string;
  pids_limit?: number;
  sysctls?: Record<string, string>;
  ports?: { host_ip?: string }[];
  networks?: Record<string, unknown>;
  environment?: Record<string, string>;
  configs?: { source: string; target?: string }[];
  volumes?: { type: string; source: string; target: string; read_only?: boolean }[];
  logging?: { driver: string };
  extra_hosts?: string[];
}
const services: Record<string, Service> = skip ? {} : JSON.parse(compose.stdout).services;
const PROFILES = ['switch', 'neo', 'morpheus', 'trinity'];
const MEMBERS = [...PROFILES, 'trader'];
const CAPABILITIES: Readonly<Record<string, string[]>> = {
  ...Object.fromEntries(PROFILES.map((name) => [name, ['SETUID', 'SETGID', 'KILL']])),
  // It gives new volumes to their readers, and becomes uid 1000; it reaches no network.
  keys: ['CHOWN', 'SETUID', 'SETGID'],
  // It reads and restores files of many owners, and reaches no network.
  backup: ['DAC_OVERRIDE', 'CHOWN', 'FOWNER'],
};
/** Bounds SysV shared memory, semaphores and queues of messages. */
const SYSV = {
  'kernel.msgmnb': '16384',
  'kernel.msgmni': '32',
  'kernel.sem': '250 32000 32 1024',
  'kernel.shmall': '16384',
};

test('plain `docker compose up` starts Grafana, and the job that prints the welcome lines', { skip }, () => {
  // The runner of tests may have a choice of its own, which would hide what .env says.
  const { COMPOSE_PROFILES: _, ...env } = process.env;
  const plain = spawnSync('docker', ['compose', 'config', '--services'], {
    cwd: root,
    encoding: 'utf8',
    env,
  });
  const started = plain.stdout.trim().split('\n');
  const left = Object.keys(services).filter((name) => !started.includes(name));
  assert.deepEqual(left.toSorted(), ['backup', 'events'], plain.stderr);
});

test('every container is hardened and bounded', { skip }, () => {
  assert.ok(Object.keys(services).length >= 10);
  for (const [name, service] of Object.entries(services)) {
    assert.equal(service.read_only, true, name);
    assert.equal(service.init, true, name);
    assert.deepEqual(service.cap_drop, ['ALL'], name);
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
    assert.ok(service.mem_limit && service.pids_limit, name);
    assert.equal(service.logging?.driver, 'json-file', name);
    assert.deepEqual(service.cap_add ?? [], CAPABILITIES[name] ?? [], name);
    if (PROFILES.includes(name)) assert.deepEqual(service.sysctls, SYSV, name);
    for (const port of service.ports ?? []) assert.equal(port.host_ip, '127.0.0.1', name);
  }
});

test('the image that is built here is never asked for at a registry', { skip }, () => {
  const own = Object.values(services).filter(({ image }) => image === services.keys?.image);
  assert.ok(own.length >= 8);
  assert.deepEqual([...new Set(own.map(({ pull_policy }) => pull_policy))], ['never']);
  assert.ok(services.keys?.build, 'Compose builds it where it is missing');
});

test('only the jobs that make keys and back them up mount the keys of another service', { skip }, () => {
  const readers = new Map<string, string[]>();
  for (const [name, service] of Object.entries(services)) {
    for (const volume of service.volumes ?? []) {
      if (!volume.source.startsWith('keys-')) continue;
      if (name !== 'keys' && name !== 'backup') assert.equal(volume.read_only, true, name);
      readers.set(volume.source, [...(readers.get(volume.source) ?? []), name]);
    }
  }
  for (const [volume, names] of readers) {
    // The job that prints the last lines of a plain `docker compose up` asks the console for a link.
    const others = names.filter(
      (name) => name !== 'keys' && name !== 'backup' && `${name} ${volume}` !== 'welcome keys-console',
    );
    assert.ok(others.length <= 1, `${volume}: ${others}`);
  }
  // The operator's keys are read by jobs that a person starts, and by nothing that keeps running.
  assert.deepEqual(readers.get('keys-operator')?.toSorted(), ['backup', 'events', 'keys']);
  assert.deepEqual(services.events?.profiles, ['events']);
  assert.deepEqual(services.backup?.profiles, ['backup']);
  assert.deepEqual([services.keys?.network_mode, services.backup?.network_mode], ['none', 'none']);
  assert.ok([...MEMBERS, 'console'].every((name) => readers.get(`keys-${name}`)?.includes(name)));
});

test('no environment holds a secret, and NATS is not on the monitoring network', { skip }, () => {
  for (const [name, service] of Object.entries(services)) {
    const own = Object.keys(service.environment ?? {}).filter((variable) => variable !== 'REPOSITORY_TOKEN');
    for (const variable of own) assert.doesNotMatch(variable, /TOKEN|PASSWORD|SECRET/, name);
    // As the keys of model providers, which the user passes on to the profiles.
    assert.equal(service.environment?.REPOSITORY_TOKEN, PROFILES.includes(name) ? '' : undefined, name);
  }
  assert.deepEqual(Object.keys(services.nats?.networks ?? {}), ['fleet']);
  assert.deepEqual(Object.keys(services.prometheus?.networks ?? {}), ['observe']);
  assert.deepEqual(Object.keys(services.grafana?.networks ?? {}), ['observe']);
});

test('the four profiles, and nobody else, have the file with the repositories of all profiles', {
  skip,
}, () => {
  const file = { source: 'repositories', target: '/etc/hermes/profiles/repositories.yaml' };
  for (const [name, service] of Object.entries(services))
    assert.deepEqual(service.configs, PROFILES.includes(name) ? [file] : undefined, name);
});

test('what commands reach on the monitoring network, they can only read', { skip }, () => {
  const options = (services.prometheus?.command ?? []).filter((option) => option.startsWith('--web.'));
  assert.deepEqual(options, [], 'no admin API, no lifecycle API, no remote write');
  const grafana = services.grafana?.environment ?? {};
  assert.equal(grafana.GF_AUTH_ANONYMOUS_ORG_ROLE, 'Viewer');
  assert.equal(grafana.GF_AUTH_DISABLE_LOGIN_FORM, 'true');
  assert.equal(grafana.GF_AUTH_BASIC_ENABLED, 'false');
});

test('profiles reach a model server of this machine by name, on Linux too', { skip }, () => {
  for (const [name, service] of Object.entries(services))
    assert.deepEqual(
      service.extra_hosts,
      PROFILES.includes(name) ? ['host.docker.internal=host-gateway'] : undefined,
      name,
    );
});

test('the trader and the console start as uid 1000 and have no workspace', { skip }, () => {
  for (const name of ['trader', 'console']) {
    const service = services[name];
    assert.equal(service?.user, '1000:1000');
    const mounts = Object.fromEntries(
      (service?.volumes ?? []).map(({ target, read_only }) => [target, read_only]),
    );
    assert.deepEqual(mounts, { [`/etc/hermes/${name}`]: true, '/run/keys': true, '/state': undefined });
  }
});
