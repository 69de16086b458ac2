import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type AdmittedTask, type MessagePart, systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeTask } from '../../testing/harness.ts';
import { scriptedAgent } from '../../testing/scripted-run.ts';
import { receive } from './receive.ts';

const LIMITS = { maxBytes: 1000, timeoutMs: 60_000, allowInternal: [] };
const UNREADABLE: MessagePart = { index: 1, kind: 'file', url: 'http://127.0.0.1:1/x?key=secret' };
const NOTE: MessagePart = { index: 0, kind: 'file', bytes: 'aGk=', filename: 'secret-plan.txt' };

describe('what came with a task', () => {
  it('cannot all be read: then the task is blocked before any token is spent, and nothing is written', async (t) => {
    const agent = await scriptedAgent(t, () => assert.fail('no model is called'));
    const { result, context, requests } = await agent({ parts: [NOTE, UNREADABLE] });
    assert.deepEqual(
      [result.status, result.unmet?.map(({ kind, name, transient }) => [kind, name, transient])],
      ['blocked', [['capability', 'files', false]]],
    );
    assert.match(
      result.blockedReason ?? '',
      /message\.parts\[1\] cannot be read: "127\.0\.0\.1" has no public/,
    );
    assert.deepEqual([context.budget.spent(), requests.length], [0, 0]);
    assert.doesNotMatch(JSON.stringify(result), /secret/);
  });

  it('has files that a model without tools cannot read: then the task is blocked', async (t) => {
    const agent = await scriptedAgent(
      t,
      () => assert.fail('no model is called'),
      {},
      { responseHandler: 'llm' },
    );
    const { result } = await agent({ parts: [NOTE] });
    assert.equal(result.status, 'blocked', JSON.stringify(result));
    assert.match(result.blockedReason ?? '', /no tools to read them/);
  });

  it('has data that is too long for the prompt: that is a file, and what fits stays in the prompt', async (t) => {
    const root = tempDir(t);
    const long = { rows: Array.from({ length: 3000 }, (_, row) => ({ row })) };
    const parts: MessagePart[] = [
      { index: 0, kind: 'data', data: long, mediaType: 'application/json' },
      { index: 1, kind: 'data', data: { order: 7 } },
    ];
    const log = recordingLog();
    const task: AdmittedTask = makeTask('Read.', { parts });
    const options = { clock: systemClock, log };
    const { signal } = new AbortController();
    const got = await receive({ ...options, files: LIMITS }, task, anchoredFiles(root, false), signal);
    assert.ok('files' in got);
    assert.deepEqual(got.data, [parts[1]]);
    const [path = ''] = /^inbox\/[0-9a-f]{8}\/data-1\.json/.exec(got.files[0] ?? '') ?? [];
    assert.deepEqual(JSON.parse(readFileSync(join(root, path), 'utf8')), long);
    const all = await receive({ ...options, files: undefined }, task, anchoredFiles(root, false), signal);
    assert.deepEqual(all, { data: parts, files: [] }, 'a model without tools gets it in the prompt');
  });

  it('is logged by number and size, not by name or content', async (t) => {
    const root = tempDir(t);
    const log = recordingLog();
    const task = makeTask('Read.', { parts: [NOTE] });
    const { signal } = new AbortController();
    await receive({ clock: systemClock, log, files: LIMITS }, task, anchoredFiles(root, false), signal);
    const written = JSON.stringify(log.entries);
    assert.match(written, /"files":1,"bytes":2/);
    assert.doesNotMatch(written, /secret-plan|aGk=/);
  });

  it('is nothing in most tasks, and nothing is made for it', async (t) => {
    const root = tempDir(t);
    const { signal } = new AbortController();
    const task = makeTask('Read.', { parts: [{ index: 0, kind: 'text', text: 'Read.' }] });
    const options = { clock: systemClock, log: recordingLog(), files: LIMITS };
    const got = await receive(options, task, anchoredFiles(root, false), signal);
    assert.deepEqual([got, existsSync(join(root, 'inbox'))], [{ data: [], files: [] }, false]);
  });
});
