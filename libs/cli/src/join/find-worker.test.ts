import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet, profileStub } from '../../testing/profile-stub.ts';
import { tokenHash } from '../keys/init.ts';
import { workerOfJoin } from './find-worker.ts';
import { prepareHome, type WorkerState, workerHome, writeWorkerState } from './worker-home.ts';
import { makeWorkerKeys } from './worker-keys.ts';

const URL = 'http://127.0.0.1:9219';

function begun(folder: string, more: Partial<WorkerState> = {}): WorkerState {
  const state: WorkerState = {
    phase: 'joined',
    name: 'worker-7',
    orchestrator: { name: 'switch', url: URL },
    joinToken: tokenHash('the join token'),
    endpoint: 'http://127.0.0.1:9230',
    bind: { host: '127.0.0.1', port: 9230 },
    workspaceDir: join(folder, 'workspace'),
    ...more,
  };
  const home = workerHome(folder, state);
  prepareHome(home, state.workspaceDir);
  writeWorkerState(home, state);
  makeWorkerKeys(home, state);
  return state;
}

function machine(t: TestContext): string {
  const folders = tempDir(t);
  begun(join(folders, 'worker-7'));
  begun(join(folders, 'worker-8'), { name: 'worker-8', joinToken: tokenHash('another') });
  return folders;
}

test('the same fleet join finds its worker without a name and a folder', (t) => {
  const folders = machine(t);
  const call = { dir: undefined, name: undefined, url: URL, joinToken: tokenHash('the join token') };
  const found = (more: object): string | undefined => workerOfJoin({ ...call, ...more }, folders)?.state.name;
  assert.equal(found({}), 'worker-7');
  assert.equal(found({ joinToken: tokenHash('a third one') }), undefined);
  assert.equal(found({ joinToken: undefined }), undefined);
  assert.equal(found({ url: 'http://127.0.0.1:9999' }), undefined);
  assert.equal(found({ name: 'worker-8' }), 'worker-8', 'a name counts more');
  assert.equal(found({ dir: join(folders, 'worker-8') }), 'worker-8');
  assert.equal(found({ dir: join(folders, 'worker-8'), name: 'worker-7' }), undefined);
  begun(join(folders, 'worker-7'), { phase: 'left' });
  assert.equal(found({}), undefined);
});

test('fleet join says that a worker was revoked, and changes nothing', async (t) => {
  const refused = { status: 401, body: { error: { code: 'UNAUTHENTICATED', message: 'not accepted' } } };
  const { url } = await profileStub(t, { '/fleet/membership': refused });
  const dir = join(tempDir(t), 'worker');
  const state = begun(dir, { orchestrator: { name: 'switch', url } });
  const { stateFile } = workerHome(dir, state);
  const before = readFileSync(stateFile, 'utf8');
  const done = await fleet(['join', url, '--dir', dir]);
  assert.match(done.stderr, /worker-7 is no member at switch any more: it was revoked; run fleet leave/);
  assert.notEqual(done.code, 0);
  assert.equal(readFileSync(stateFile, 'utf8'), before);
  assert.ok(existsSync(join(dir, 'keys')));
});
