import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { withLocalEnv } from './env-local.ts';
import { folderAt } from './fleet-folder.ts';

test('variables are read from .env.local unless the environment has them, and what is not understood is named without its text', (t) => {
  const root = tempDir(t);
  const read = (text: string): [NodeJS.ProcessEnv, string] => {
    writeFileSync(join(root, '.env.local'), text);
    const stderr = new PassThrough();
    const env = withLocalEnv(folderAt(root), { OWN: 'own', EMPTY: '' }, stderr);
    return [env, String(stderr.read() ?? '')];
  };
  assert.deepEqual(read('# keys\n\nA=a:1=$(touch x);b\nOWN=file\nEMPTY=last'), [
    { A: 'a:1=$(touch x);b', OWN: 'own', EMPTY: 'last' },
    '',
  ]);
  const [written] = read(`export A="a # 'b'" # mine\r\n B='c "d"'\r\nC= e # g \r\nD= # none\nE="x\\ny"`);
  assert.deepEqual(written, { A: "a # 'b'", B: 'c "d"', C: 'e', D: '', E: 'x\ny', OWN: 'own' });
  const refused = [
    'bad name=s3cret',
    's3cret',
    '=s3cret',
    '1A=s3cret',
    'A="s3cret',
    "A='s3cret'x",
    'A = s3cret',
    'A=s3#cret',
  ];
  const [env, said] = read(refused.join('\n'));
  assert.deepEqual(env, { OWN: 'own' });
  assert.deepEqual(said.match(/(?<=^\.env\.local:)\d+/gm)?.length, refused.length);
  assert.doesNotMatch(said, /s3cret/);
});

test('a fleet without .env.local has the environment as it is', (t) => {
  const env = { A: '1' };
  assert.equal(withLocalEnv(folderAt(tempDir(t)), env, new PassThrough()), env);
  assert.equal(withLocalEnv(undefined, env, new PassThrough()), env);
});
