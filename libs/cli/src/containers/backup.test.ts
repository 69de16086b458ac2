import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { folderAt } from '../folder/fleet-folder.ts';
import { backUpContainers, restoreContainers } from './backup.ts';

/** Containers are files with their states, whose names are both service and id. */
const DOCKER = `#!/bin/sh
echo "$*" >>"$AT/calls"
set_state() { state=$1; shift; for id; do echo "$state" >"$AT/containers/$id"; done; }
case "$*" in
  *' config --images keys') echo an-image ;;
  *' config --format json') echo '{"name":"p","services":{},"networks":{"fleet":{"name":"p_fleet"}}}' ;;
  'network inspect p_fleet') exit 1 ;;
  *' ps --all --format json')
    for each in "$AT"/containers/*; do
      [ ! -e "$each" ] || echo "{\\"ID\\":\\"\${each##*/}\\",\\"Service\\":\\"\${each##*/}\\",\\"State\\":\\"$(cat "$each")\\"}"
    done
    ;;
  pause*) shift; set_state paused "$@" ;;
  unpause*) shift; set_state running "$@" ;;
  *' backup backup - --dir /fleet'*)
    echo an-archive
    [ ! -e "$AT/continued" ] || set_state running neo
    [ ! -e "$AT/hangs" ] || { echo >"$AT/begun"; exec sleep 600; }
    ;;
  *' backup restore '*) if [ -e "$AT/full" ]; then echo '{"error":{"message":"/fleet has keys/neo already"}}'; exit 1; fi
    echo '{"parts":["nats"],"created_at":"2026"}' ;;
esac
`;

function fleet(t: TestContext, services: Readonly<Record<string, string>>) {
  const dir = tempDir(t);
  for (const name of ['bin', 'containers', 'mine/profiles']) mkdirSync(join(dir, name), { recursive: true });
  writeFileSync(join(dir, 'bin/docker'), DOCKER, { mode: 0o755 });
  for (const [name, state] of Object.entries(services)) writeFileSync(join(dir, 'containers', name), state);
  const env = { PATH: `${join(dir, 'bin')}:${process.env.PATH}`, AT: dir, FLEET_IMAGE: 'an-image' };
  const options = { folder: folderAt(join(dir, 'mine')), env, clock, stderr: new PassThrough() };
  const states = () =>
    readdirSync(join(dir, 'containers')).map(
      (name) => `${name} ${readFileSync(join(dir, 'containers', name), 'utf8').trim()}`,
    );
  return {
    dir,
    options,
    env,
    file: join(dir, 'fleet.tar.zst'),
    states,
    put: (name: string) => writeFileSync(join(dir, name), ''),
    calls: () => readFileSync(join(dir, 'calls'), 'utf8'),
  };
}

const failure = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof FleetError && error.code === code && message.test(error.message);

test('containers stand still while they are backed up to a file of their owner, and continue', async (t) => {
  const { options, file, states, calls } = fleet(t, {
    neo: 'running',
    switch: 'running',
    grafana: 'running',
    old: 'exited',
  });
  const { bytes, pausedMs } = await backUpContainers(options, file);
  assert.deepEqual([bytes, pausedMs > 0], [11, true]);
  assert.equal(readFileSync(file, 'utf8'), 'an-archive\n');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(calls(), /^pause neo switch$[\s\S]*backup backup -[\s\S]*^unpause neo switch$/m);
  assert.deepEqual(states(), ['grafana running', 'neo running', 'old exited', 'switch running']);
  await assert.rejects(
    backUpContainers(options, file),
    failure('CONFIG_INVALID', /exists: name another file/),
  );
  await backUpContainers(options, `${file}.neo`, 'neo');
  assert.match(calls(), /^pause neo$[\s\S]*backup backup - --dir \/fleet --member neo$/m);
});

test('a backup during which a container went on is no backup', async (t) => {
  const { options, file, put, states } = fleet(t, { neo: 'running', switch: 'running' });
  put('continued');
  await assert.rejects(
    backUpContainers(options, file),
    failure('CAPACITY', /was continued during the backup/),
  );
  assert.deepEqual([existsSync(file), existsSync(`${file}.partial`)], [false, false]);
  assert.deepEqual(states(), ['neo running', 'switch running']);
  writeFileSync(join(options.env.AT, 'containers/neo'), 'paused');
  await assert.rejects(
    backUpContainers(options, file),
    failure('CAPACITY', /are paused, as during a backup/),
  );
  assert.deepEqual(states(), ['neo paused', 'switch running']);
});

test('containers continue also if the command is killed', async (t) => {
  const { dir, env, put, states, file } = fleet(t, { neo: 'running', switch: 'running' });
  put('hangs');
  const script = `import { backUpContainers } from '${join(import.meta.dirname, 'backup.ts')}';
    await backUpContainers({ folder: { root: '${dir}' }, env: process.env, stderr: process.stderr, clock: { monotonic: () => 0 } }, '${file}');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
    detached: true,
  });
  const pid = child.pid ?? 0;
  while (!existsSync(join(dir, 'begun'))) await clock.sleep(20);
  assert.deepEqual(states(), ['neo paused', 'switch paused']);
  // With everything that it started, as the end of a terminal does.
  process.kill(-pid, 'SIGKILL');
  await once(child, 'close');
  while (states().join() !== 'neo running,switch running') await clock.sleep(20);
});

test('a restore takes a file that is there, and a fleet that is down, and says why it fails', async (t) => {
  const { options, file, put, dir, calls } = fleet(t, { neo: 'running' });
  await assert.rejects(restoreContainers(options, file), failure('CONFIG_INVALID', /there is no file/));
  writeFileSync(file, '');
  await assert.rejects(
    restoreContainers(options, file),
    failure('CONFIG_INVALID', /the fleet runs: stop it first/),
  );
  rmSync(join(dir, 'containers/neo'));
  assert.deepEqual(await restoreContainers(options, file), { parts: ['nats'], created_at: '2026' });
  assert.ok(calls().includes(`run --rm --no-deps -T --volume ${file}:/backup.tar.zst:ro backup restore`));
  assert.match(calls(), /^network rm p_fleet$/m, 'a job leaves no network');
  put('full');
  await assert.rejects(
    restoreContainers(options, file),
    failure('CONFIG_INVALID', /^\/fleet has keys\/neo already$/),
  );
});
