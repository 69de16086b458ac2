import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { UsageError } from '../command-line/option-values.ts';
import { backupUsage } from '../command-specs/processes.ts';
import { sendUsage } from '../command-specs/tasks.ts';
import { joinUsage } from '../command-specs/workers.ts';
import { refuseWithoutNode } from './without-node.ts';

test('without Node.js, a file or folder that the command does not see is named, with the way out', (t) => {
  const dir = tempDir(t);
  mkdirSync(join(dir, 'project'));
  writeFileSync(join(dir, 'project/a.txt'), '');
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'project/link'));
  const env = { FLEET_MOUNTED: `:/a/checkout:${dir}/project:` };
  const send = (values: Parameters<typeof refuseWithoutNode>[1]) => () =>
    refuseWithoutNode(sendUsage, values, ['/not/a/file'], env);
  for (const values of [
    { repo: `${dir}/project` },
    { file: ['-', `${dir}/project/a.txt`] },
    { schema: '/a/checkout/new' },
  ])
    assert.doesNotThrow(send(values));
  for (const [values, words] of [
    [{ repo: `${dir}/elsewhere` }, `--repo ${dir}/elsewhere`],
    [{ repo: `${dir}/project/link` }, `--repo ${dir}/project/link`],
    [{ file: [`${dir}/project/a.txt`, `${dir}/projects`] }, `--file ${dir}/projects`],
    [{ schema: '/tmp/schema.json' }, '--schema /tmp/schema.json'],
  ] as const)
    assert.throws(
      send(values),
      new UsageError(
        `${words} is not in /a/checkout or ${dir}/project, which is all that a command sees without Node.js: go to its folder, or install Node.js with npm`,
      ),
    );
  assert.throws(
    () => refuseWithoutNode(backupUsage, {}, ['/tmp/fleet.tar.zst'], env),
    /^UsageError: \/tmp\/fleet.tar.zst is not in /,
  );
  assert.throws(
    () => refuseWithoutNode(joinUsage, {}, ['https://a.example'], env),
    /join needs Node.js here/,
  );
  assert.doesNotThrow(() => refuseWithoutNode(joinUsage, {}, ['https://a.example'], {}));
});
