import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerPart } from '@hermes-fleet/a2a/client';
import { artifactFiles } from './artifact-files.ts';

const file = (name?: string, mediaType?: string): PeerPart => ({
  kind: 'file',
  base64: '',
  ...(name === undefined ? {} : { name }),
  ...(mediaType === undefined ? {} : { mediaType }),
});

const namesOf = (parts: readonly PeerPart[], id = 'a', name?: string): string[] =>
  artifactFiles([{ id, ...(name === undefined ? {} : { name }), parts }]).map((each) => each.name);

test('a name of an agent is the name of one file in the folder', () => {
  const hostile = ['../../x', '/etc/passwd', '..\\..\\boot.ini', 'a\u0000b\n\u202ec', '.ssh/.profile', '-rf'];
  assert.deepEqual(namesOf(hostile.map((name) => file(name))), [
    'x',
    'passwd',
    'boot.ini',
    'a_b_c',
    'profile',
    'rf',
  ]);
  assert.deepEqual(namesOf([file('..'), file('/'), file('\u0000')], '../..', ''), [
    'artifact-1',
    'artifact-1-2',
    'artifact-1-3',
  ]);
  const [long = ''] = namesOf([file(`${'x'.repeat(5_000)}.csv`)]);
  assert.match(long, /^x+\.csv$/);
  assert.ok(long.length <= 120);
});

test('no two files have one name, also where case does not count', () => {
  assert.deepEqual(namesOf([file('a.txt'), file('x/A.txt'), file('A-2.TXT'), file('a.txt')]), [
    'a.txt',
    'A-2.txt',
    'A-2-2.TXT',
    'a-3.txt',
  ]);
  const many = namesOf(Array.from({ length: 4_000 }, () => file('a')));
  assert.equal(new Set(many).size, 4_000);
});

test('a part without a name has that of its artifact, with the extension of text or JSON', () => {
  const parts: PeerPart[] = [
    { kind: 'text', text: 'x' },
    { kind: 'data', data: {} },
    file(undefined, 'text/plain'),
    file(undefined, 'application/json'),
    file(undefined, 'image/png'),
  ];
  assert.deepEqual(namesOf(parts, 'id', 'docs/My report'), [
    'My_report.txt',
    'My_report.json',
    'My_report-2.txt',
    'My_report-2.json',
    'My_report',
  ]);
  assert.deepEqual(namesOf(parts.slice(0, 2), 'file:notes.md'), ['file_notes.md', 'file_notes-2.md']);
});
