import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeAgent, makeToolContext } from '../../testing/harness.ts';
import { type MemoryArtifacts, memoryArtifacts } from '../../testing/memory-artifacts.ts';
import { publishFileTool } from './publish-file.ts';

async function setUp(t: TestContext, artifacts = memoryArtifacts({ maxBytes: 100 })) {
  const dir = tempDir(t);
  const context = { ...makeToolContext({ dir, files: anchoredFiles(dir, false) }), artifacts };
  const publish = (input: unknown) => publishFileTool().run(input, context);
  return { dir, artifacts, publish, context };
}

test('a file becomes an artifact with its path, a media type and its content', async (t) => {
  const { dir, artifacts, publish } = await setUp(t);
  await mkdir(join(dir, 'out'));
  await writeFile(join(dir, 'out/a.csv'), 'a,b');
  const result = await publish({ path: './out/a.csv', description: 'the table' });
  assert.deepEqual(result.output, { published: 'out/a.csv', bytes: 3, media_type: 'text/csv' });
  assert.deepEqual(artifacts.chunks, [
    {
      id: 'file:out/a.csv',
      place: 0,
      name: 'out/a.csv',
      description: 'the table',
      parts: [{ kind: 'file', base64: 'YSxi', name: 'a.csv', mediaType: 'text/csv' }],
      replaces: false,
      isLast: true,
    },
  ]);
});

test('a repeated call publishes nothing twice, and a changed file replaces what was published', async (t) => {
  const { dir, artifacts, publish } = await setUp(t);
  await writeFile(join(dir, 'text'), 'one');
  for (const _ of [1, 2]) assert.equal((await publish({ path: 'text' })).ok, true);
  await writeFile(join(dir, 'text'), 'two');
  await publish({ path: 'text' });
  assert.deepEqual(
    artifacts.chunks.map(({ id, place, replaces }) => [id, place, replaces]),
    [
      ['file:text', 0, false],
      ['file:text', 1, true],
    ],
  );
});

test('another description replaces what was published, and one that is left out is gone', async (t) => {
  const { dir, artifacts, publish } = await setUp(t);
  await writeFile(join(dir, 'text'), 'one');
  for (const description of ['a draft', 'a draft', 'the final text', undefined, undefined])
    assert.equal((await publish({ path: 'text', ...(description && { description }) })).ok, true);
  assert.deepEqual(
    artifacts.chunks.map(({ place, replaces, description }) => [place, replaces, description]),
    [
      [0, false, 'a draft'],
      [1, true, 'the final text'],
      [2, true, undefined],
    ],
  );
});

test('the media type is the given one, else that of the name, else whether it is text', async (t) => {
  const { dir, artifacts, publish } = await setUp(t);
  await writeFile(join(dir, 'a.PNG'), '');
  await writeFile(join(dir, 'b'), Buffer.from([0xff, 0xfe]));
  await writeFile(join(dir, 'c.md'), 'größe');
  await publish({ path: 'a.PNG' });
  await publish({ path: 'b' });
  await publish({ path: 'c.md', media_type: 'text/x-own' });
  assert.deepEqual(
    artifacts.chunks.map(({ parts }) => parts[0]?.mediaType),
    ['image/png', 'application/octet-stream', 'text/x-own'],
  );
});

test('what cannot be published is told to the model', async (t) => {
  const { dir, artifacts, publish, context } = await setUp(t);
  await writeFile(join(dir, 'big'), 'x'.repeat(101));
  await symlink('/etc/passwd', join(dir, 'out'));
  const rows: [input: unknown, says: RegExp][] = [
    [{ path: 'big' }, /101 bytes; at most 100 can be published/],
    [{ path: 'none' }, /no such file/],
    [{ path: 'out' }, /leads out of the workspace/],
    [{ path: '../x' }, /leads out of the workspace/],
    [{ path: '.git/config' }, /off limits/],
    [{ path: '.' }, /not a file/],
    [{ path: 'big', media_type: 'text' }, /media type/],
    [{}, /path/],
  ];
  for (const [input, says] of rows) {
    const { ok, output } = await publish(input);
    assert.equal(ok, false);
    assert.match(JSON.stringify(output), says);
  }
  const part = await publishFileTool().run({ path: 'big' }, { ...context, artifacts: undefined });
  assert.match(String(part.output), /part of another task/);
  assert.deepEqual(artifacts.chunks, []);
});

test('of two calls at once for one path, the later one replaces what the other has published', async (t) => {
  const both = Promise.withResolvers<void>();
  let begun = 0;
  const stored = memoryArtifacts();
  const artifacts: MemoryArtifacts = {
    ...stored,
    async add(chunk) {
      begun += 1;
      if (begun === 2) both.resolve();
      await both.promise;
      return stored.add(chunk);
    },
  };
  const { dir, publish, context } = await setUp(t, artifacts);
  await writeFile(join(dir, 'a'), 'x');
  const types = ['text/one', 'text/two'];
  const results = await Promise.all(types.map((media_type) => publish({ path: 'a', media_type })));
  assert.deepEqual(
    results.map(({ ok }) => ok),
    [true, true],
  );
  assert.deepEqual(
    artifacts.chunks.map(({ place, replaces }) => [place, replaces]),
    [
      [0, false],
      [1, true],
    ],
  );
  assert.deepEqual(artifacts.chunks.map(({ parts }) => parts[0]?.mediaType).sort(), types);
  const ended = { ...memoryArtifacts(), add: async () => false };
  const late = await publishFileTool().run({ path: 'a' }, { ...context, artifacts: ended });
  assert.match(String(late.output), /not published: the task has ended/);
});

test('a limit of the task is told to the model, and any other error is thrown', async (t) => {
  for (const [error, isThrown] of [
    [new FleetError('ARTIFACT_TOO_LARGE', 'the task would have 9 bytes'), false],
    [new FleetError('STORE_UNAVAILABLE', 'the disk is full'), true],
  ] as const) {
    const refusing = memoryArtifacts({
      onAdd() {
        throw error;
      },
    });
    const { dir, publish } = await setUp(t, refusing);
    await writeFile(join(dir, 'a'), 'more');
    const call = publish({ path: 'a' });
    if (isThrown) await assert.rejects(call, { code: 'STORE_UNAVAILABLE' });
    else
      assert.match(
        String((await call).output),
        /9 bytes; publish less, and tell the caller where the rest is/,
      );
  }
});

test('an agent offers the tool unless it is off', async (t) => {
  const { capabilities } = await makeAgent(t);
  assert.ok(capabilities().tools.includes('publish_file'));
  const off = await makeAgent(t, { tools: { publish: { enabled: false } } });
  assert.ok(!off.capabilities().tools.includes('publish_file'));
});
