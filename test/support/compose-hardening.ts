import assert from 'node:assert/strict';
import { type ComposeFleet, MEMBERS } from './compose.ts';
import { runProgram } from './fleet.ts';

/** Every container runs as docker-compose.yml promises, and its ports are open on this machine only. */
export async function assertHardened(fleet: ComposeFleet): Promise<void> {
  const services = [...MEMBERS, 'console', 'nats', 'prometheus'];
  for (const service of services) {
    const { HostConfig: host, NetworkSettings: network } = await fleet.inspect(service);
    assert.equal(host.ReadonlyRootfs, true, service);
    assert.equal(host.Privileged, false, service);
    assert.equal(host.Init, true, service);
    assert.deepEqual(host.CapDrop, ['ALL'], service);
    assert.ok(host.SecurityOpt?.includes('no-new-privileges:true'), service);
    assert.ok(host.Memory > 0 && Number(host.PidsLimit) > 0, service);
    const addresses = Object.values(network.Ports).flatMap((ports) => ports ?? []);
    assert.deepEqual(
      [...new Set(addresses.map(({ HostIp }) => HostIp))],
      service === 'nats' ? [] : ['127.0.0.1'],
    );

    const top = await runProgram('docker', ['top', await fleet.container(service), '-eo', 'pid,uid,args']);
    const processes = top.stdout.split('\n').map((line) => line.trim().split(/\s+/).slice(1));
    const main =
      {
        nats: 'nats-server',
        prometheus: '/bin/prometheus',
        trader: 'node dist/trader.js',
        console: 'node dist/console.js',
      }[service] ?? 'node dist/profile.js';
    const uids = processes.flatMap(([uid, ...args]) => (args.join(' ').startsWith(main) ? [uid] : []));
    assert.deepEqual([...new Set(uids)], [service === 'prometheus' ? '65534' : '1000'], top.stdout);
  }
}

/** No key is in what the engine, the image or a log shows. */
export async function assertKeysHidden(fleet: ComposeFleet): Promise<void> {
  const files = '$(find /keys -type f ! -name nats.conf ! -name NATS_USER)';
  const keys = await fleet.withKeys(`for file in ${files}; do cat "$file"; echo; done`);
  const secrets = keys.split('\n').filter(Boolean);
  assert.ok(secrets.length > 20, `only ${secrets.length} keys`);
  assert.ok(secrets.includes(fleet.operatorToken));
  const ids = (await fleet.compose('ps', '--all', '--quiet')).trim().split('\n');
  const places = {
    'docker inspect': ['inspect', fleet.image, ...ids],
    'docker history': ['history', '--no-trunc', fleet.image],
  };
  const shown = { logs: await fleet.compose('logs', '--no-color') };
  for (const [place, args] of Object.entries(places)) {
    const { code, stdout } = await runProgram('docker', args);
    assert.equal(code, 0, place);
    Object.assign(shown, { [place]: stdout });
  }
  for (const [place, text] of Object.entries(shown)) {
    assert.ok(text.length > 0, place);
    for (const secret of secrets) assert.ok(!text.includes(secret), `a key is in ${place}`);
  }
}
