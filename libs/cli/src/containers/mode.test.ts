import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fakeDocker } from '../../testing/fake-docker.ts';
import { folderAt } from '../folder/fleet-folder.ts';
import { forgetContainers, modeOf, refuseSecondFleet, rememberContainers } from './mode.ts';

const NO_ENGINE = { PATH: '/nowhere' };
const folderOf = (t: TestContext) => folderAt(tempDir(t));
const startProcess = (dir: string): void => {
  mkdirSync(join(dir, 'run'), { recursive: true });
  writeFileSync(join(dir, 'run/neo.json'), '{}');
};

test('the mode is that of FLEET_MODE, else of what runs, else of the machine', async (t) => {
  const { env } = fakeDocker(t, 'exit 0');
  const folder = folderOf(t);
  assert.equal(await modeOf(folder, env), 'docker');
  assert.equal(await modeOf(folder, NO_ENGINE), 'process');
  assert.equal(await modeOf(folder, fakeDocker(t, '[ "$1" != compose ]').env), 'process');
  rememberContainers(folder);
  assert.equal(await modeOf(folder, NO_ENGINE), 'docker');
  forgetContainers(folder);
  assert.equal(await modeOf(folder, NO_ENGINE), 'process');
  startProcess(folder.dir);
  assert.equal(await modeOf(folder, env), 'process');
  assert.equal(await modeOf(folder, { ...NO_ENGINE, FLEET_MODE: 'docker' }), 'docker');
  await assert.rejects(
    modeOf(folder, { FLEET_MODE: 'swarm' }),
    /^FleetError: FLEET_MODE must be docker or process, not "swarm"$/,
  );
});

test('a second fleet in the other mode is refused while the first one is up', async (t) => {
  const { env } = fakeDocker(t, 'exit 0');
  const processes = folderOf(t);
  startProcess(processes.dir);
  await refuseSecondFleet(processes, env, 'process');
  await assert.rejects(
    refuseSecondFleet(processes, env, 'docker'),
    /up already, as FLEET_MODE=process: FLEET_MODE=process make down stops it/,
  );
  const containers = folderOf(t);
  rememberContainers(containers);
  const container = '{"ID":"1","Service":"neo","State":"exited"}';
  await refuseSecondFleet(containers, env, 'process');
  await refuseSecondFleet(containers, NO_ENGINE, 'process');
  await assert.rejects(
    refuseSecondFleet(
      containers,
      fakeDocker(t, `case "$*" in *ps*) echo '${container}' ;; esac`).env,
      'process',
    ),
    /as FLEET_MODE=docker/,
  );
});
