import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { PeerPart, PeerTask } from '@hermes-fleet/a2a/client';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { saveArtifacts } from './save-artifacts.ts';

const MIB = 1024 * 1024;

/** Saves these parts of an agent's task, whose files at an address all have this content. */
function saving(t: TestContext, parts: readonly PeerPart[], content = Buffer.alloc(0)) {
  const folder = join(tempDir(t, { prefix: 'fleet-save-' }), 'out');
  const task: PeerTask = {
    id: 't',
    contextId: 'c',
    state: 'completed',
    terminal: true,
    text: '',
    statusText: '',
    data: [],
    artifacts: [{ id: 'a', parts }],
    metadata: {},
  };
  const limits: number[] = [];
  const reasons: string[] = [];
  const files = saveArtifacts(
    {
      client: {
        file: async (_peer, _url, { maxBytes }) => {
          limits.push(maxBytes / MIB);
          if (content.length <= maxBytes) return content;
          throw new FleetError('PEER_REFUSED', 'too large');
        },
      },
      at: {
        name: 'agent',
        endpoint: { name: 'agent', url: 'http://a.example/rpc' },
        target: undefined,
        streams: true,
        again: '',
      },
      folder,
      force: false,
    },
    task,
  );
  const saved = (async () => {
    for await (const file of files) if ('reason' in file) reasons.push(file.reason);
  })();
  return { saved, folder, limits, reasons };
}

test('one part may have 64 MiB, and all of a task 256 MiB', async (t) => {
  const part: PeerPart = { kind: 'file', url: 'http://a.example/f' };
  const six = Array.from({ length: 6 }, () => part);
  const { saved, folder, limits, reasons } = saving(t, six, Buffer.alloc(60 * MIB));
  await saved;
  assert.deepEqual(limits, [64, 64, 64, 64, 16, 16]);
  assert.deepEqual(reasons, ['too large', 'too large']);
  assert.equal(readdirSync(folder).length, 4);
  const long: PeerPart = { kind: 'text', text: 'x'.repeat(65 * MIB) };
  const inline = saving(t, [long]);
  await inline.saved;
  assert.deepEqual(inline.reasons, [`it has ${65 * MIB} bytes, and ${64 * MIB} can be saved`]);
});

test('a task with more parts than a profile keeps is refused, and nothing is made', async (t) => {
  const parts = Array.from({ length: 4_001 }, (): PeerPart => ({ kind: 'text', text: 'x' }));
  const { saved, folder } = saving(t, parts);
  await assert.rejects(saved, /agent has 4001 parts for the task: at most 4000 can be saved/);
  assert.ok(!existsSync(folder));
});
