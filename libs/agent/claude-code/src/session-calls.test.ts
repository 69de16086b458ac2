import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RunResources } from '@hermes-fleet/loop';
import { makeContext, makeTask } from '@hermes-fleet/loop/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock, type Tracing } from '@hermes-fleet/protocol/ports';
import { recordingTracing, silentLog } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { createSessionCalls, type SessionCallsOptions } from './session-calls.ts';

const call = { id: 'c1', name: 'Write', input: { file_path: 'a.txt', content: 'A' } };

/** The calls of a session without tools of the agent's own but `write_file`. */
function open(
  t: TestContext,
  { tracing, ...writes }: Pick<SessionCallsOptions, 'save' | 'progress'> & { readonly tracing?: Tracing },
) {
  const { workspaceRoot } = makePlace(t);
  const { signal, stopping } = makeContext();
  const resources = {
    task: makeTask('Write A.'),
    files: anchoredFiles(workspaceRoot, false),
    hooks: {},
    model: { info: { contextWindow: 100_000 } },
    clock: systemClock,
    log: silentLog,
    tracing,
    signal,
    stopping,
  } as unknown as RunResources;
  const session = { id: 'session', begun: [] };
  const options: SessionCallsOptions = {
    state: { step: 0, messages: [], journal: [], session },
    key: '',
    tools: [{ name: 'write_file' }] as unknown as SessionCallsOptions['tools'],
    ...writes,
    session: () => session,
    running: signal,
    contextOf: () => assert.fail('no call of the agent'),
    wrapUpIfDue: async () => undefined,
    pause: async () => {},
  };
  return { session, state: options.state, calls: createSessionCalls(options, resources) };
}

test("the save and the event of a call of Claude Code's own begin in one turn, before either has ended", async (t) => {
  const begun: string[] = [];
  let end = (): void => {};
  /** A write that ends when the test says so. */
  function write(what: string): Promise<void> {
    begun.push(what);
    const { promise, resolve } = Promise.withResolvers<void>();
    const others = end;
    end = () => {
      others();
      resolve();
    };
    return promise;
  }
  const { session, calls } = open(t, {
    save: () => write('save'),
    progress: (data: JsonObject) => write(String(data.phase)),
  });

  /** Ends the writes once both have begun. The time limit of the test runner ends a test that waits forever. */
  async function together(work: Promise<unknown>, both: readonly string[]): Promise<void> {
    while (begun.length === 0) await new Promise(setImmediate);
    await new Promise(setImmediate);
    const seen = begun.splice(0);
    end();
    assert.deepEqual(seen.sort(), both);
    await work;
  }
  await together(calls.before(call), ['save', 'started']);
  assert.equal(session.begun.length, 1);
  await together(calls.after({ call, response: {}, error: '' }), ['ended', 'save']);
  assert.equal(session.begun.length, 0);
});

test("a call of Claude Code's own is a span from the hook before it to its result", async (t) => {
  const tracing = recordingTracing();
  const nothing = async (): Promise<void> => {};
  const { calls } = open(t, { save: nothing, progress: nothing, tracing });
  await calls.before(call);
  assert.equal(tracing.only('execute_tool write_file').isEnded, false);
  await calls.afterFailure({ call, response: {}, error: 'the disk is full' });
  const { isEnded, attributes } = tracing.only('execute_tool write_file');
  assert.deepEqual([isEnded, attributes['hermes.tool.ok']], [true, false]);
});

test('of the calls of one answer, the first 64 run, and the rest is refused with few entries in the record', async (t) => {
  let saves = 0;
  const { calls, state } = open(t, { save: async () => void saves++, progress: async () => {} });
  const makes = async (count: number) => {
    const answers: string[] = [];
    for (let at = 0; at < count; at += 1)
      answers.push(JSON.stringify(await calls.before({ ...call, id: `${state.step}-${at}` })));
    calls.onResults(
      answers.map((text, at) => ({ id: `${state.step}-${at}`, isError: true, text })).slice(64),
    );
    await calls.settled();
    return answers;
  };
  state.step = 1;
  const answers = await makes(1_000);
  assert.deepEqual(new Set(answers.slice(0, 64)), new Set(['{}']));
  for (const text of answers.slice(64)) assert.match(text, /"deny".*"not run: of the calls of one answer/);
  assert.equal(saves, 64);
  assert.deepEqual(
    state.journal.map(({ tool, refused }) => [tool, refused]),
    [['write_file', true]],
  );
  state.step = 2;
  assert.deepEqual(await makes(1), ['{}']);
});
