import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet } from '../../testing/profile-stub.ts';

test('the processes of a fleet are a table, or a document with the names of the wire', async (t) => {
  const ps = ['ps', '--dir', tempDir(t)];
  const { code, stdout, stderr } = await fleet(ps);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^name +state +pid +url +detail +log_file\n(?:.+\n)*switch +down +- +http:/);

  const rows = JSON.parse((await fleet([...ps, '--json'])).stdout);
  const neo = rows.find(({ name }: { name: string }) => name === 'neo');
  assert.deepEqual(Object.keys(neo), ['name', 'state', 'pid', 'url', 'detail', 'log_file']);
  assert.match(neo.log_file, /\/logs\/neo\.log$/);
});
