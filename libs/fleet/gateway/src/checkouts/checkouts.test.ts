import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { BUNDLE_ROUTES, BUNDLE_TYPE, bundleOfTaskUrl } from '@hermes-fleet/protocol/api';
import type { AdmittedTask } from '@hermes-fleet/protocol/ports';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import type { createApp } from '@hermes-fleet/service';
import { type FileBundles, fileBundles } from '../../testing/file-bundles.ts';
import { errorOf } from '../../testing/file-results.ts';
import { dispatching } from '../../testing/messages.ts';
import { relayFleet } from '../../testing/relay-fleet.ts';
import { CALLER, DONE, type Script } from '../../testing/scripts.ts';
import type { TestProfile } from '../../testing/test-profile.ts';

const COMMIT = 'c0'.repeat(20);
const OLDER = { bundle: '0b'.repeat(32), commit: 'b0'.repeat(20) };
const CONTENT = 'the bundle of the task';
const SENT = { bundle: createHash('sha256').update(CONTENT).digest('hex'), commit: COMMIT };
const signal = AbortSignal.timeout(60_000);

interface Scene {
  readonly neo: TestProfile;
  readonly ofNeo: FileBundles;
  /** Opens a bundle as the agent of neo. */
  open(commit?: string): Promise<string>;
  /** Asks neo for a bundle of its task, as a worker of neo would. */
  ask(commit: string): Promise<Response>;
}

/** Runs `during` while neo does a task of the orchestrator with a checkout, and returns the text of its result. */
async function atWorker(
  t: TestContext,
  during: (scene: Scene) => Promise<void>,
  routes?: (app: ReturnType<typeof createApp>) => void,
): Promise<void> {
  const ofNeo = fileBundles(tempDir(t));
  const bundles = fileBundles(tempDir(t));
  bundles.keep(CALLER.name, SENT, CONTENT);
  bundles.keep(CALLER.name, OLDER, 'an older one');
  await bundles.use(CALLER.name, OLDER.bundle, 'c');
  let failure: unknown;
  const script: Script = async (task: AdmittedTask) => {
    const neo = worker('neo');
    const { source } = neo.gateway.checkouts;
    const token = neo.ledger.contexts.repositoryToken(task.id);
    const scene: Scene = {
      neo,
      ofNeo,
      async open(commit = COMMIT) {
        await using content = await source.open(task, commit, signal);
        const text = readFileSync(content.path, 'utf8');
        assert.equal(content.bytes, text.length);
        return text;
      },
      ask: (commit) =>
        fetch(`http://127.0.0.1:${neo.port}${bundleOfTaskUrl(task.id, commit)}`, {
          headers: { authorization: `Bearer ${token}` },
        }),
    };
    await during(scene).catch((error: unknown) => {
      failure = error;
    });
    return DONE;
  };
  const { orchestrator, worker } = await relayFleet(
    t,
    { neo: { script, repositories: ['bundle'], bundles: ofNeo } },
    { bundles, ...(routes && { routes }) },
  );
  await orchestrator.serve();
  const repository = { bundle: SENT.bundle, base: COMMIT };
  const id = await orchestrator.send({ ...dispatching({ repository }), contextId: 'c' });
  assert.equal((await orchestrator.result(id)).status, 'done');
  if (failure !== undefined) throw failure;
}

test('a worker gets the bundles of its task from the orchestrator, and passes them on', deadline, (t) =>
  atWorker(t, async ({ open, ask, ofNeo }) => {
    assert.deepEqual([await open(), await open(OLDER.commit)], [CONTENT, 'an older one']);
    const passed = await ask(OLDER.commit);
    assert.equal(passed.headers.get('content-type'), BUNDLE_TYPE);
    assert.equal(await passed.text(), 'an older one');
    await assert.rejects(open('d0'.repeat(20)), { code: 'NO_RESULT', message: /^switch has no such bundle/ });
    assert.deepEqual((await errorOf(ask('d0'.repeat(20)))).slice(0, 2), [404, 'NO_RESULT']);
    assert.deepEqual(ofNeo.files(), [], 'nothing of them stays');
  }),
);

test('a worker without room on its disk for a bundle may get it later', deadline, (t) =>
  atWorker(t, async ({ open, ofNeo }) => {
    await using handle = await openFile(import.meta.filename);
    const full = t.mock.method(Object.getPrototypeOf(handle), 'appendFile', async () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    });
    await assert.rejects(open(), { code: 'CAPACITY', retryable: true, message: /disk has no room/ });
    full.mock.restore();
    assert.deepEqual(ofNeo.files(), []);
  }),
);

test(
  'an orchestrator that is away, has no such routes, or sends something else is named',
  deadline,
  async (t) => {
    const answering =
      (answer: (commit: string) => [number, string, string]) => (app: ReturnType<typeof createApp>) => {
        app.get<{ Querystring: { commit: string } }>(
          BUNDLE_ROUTES.ofTask,
          { config: { public: true } },
          async ({ query }, reply) => {
            const [status, type, body] = answer(query.commit);
            return reply.code(status).type(type).send(body);
          },
        );
      };
    const rows: [string, (commit: string) => [number, string, string], string, RegExp][] = [
      [
        'other bytes',
        () => [200, BUNDLE_TYPE, 'tampered'],
        'PEER_REFUSED',
        /another bundle than that of the task/,
      ],
      ['another type', () => [200, 'text/html', 'x'], 'PEER_REFUSED', /^switch answers with something/],
      ['an older release', () => [404, 'text/html', 'x'], 'PEER_REFUSED', /^switch does not send .*HTTP 404/],
    ];
    for (const [what, answer, code, message] of rows)
      await atWorker(
        t,
        async ({ open, ofNeo }) => {
          await assert.rejects(open(), { code, message }, what);
          assert.deepEqual(ofNeo.files(), []);
        },
        answering(answer),
      );
    const breaking = (app: ReturnType<typeof createApp>) => {
      const route = { config: { public: true } };
      app.get(BUNDLE_ROUTES.ofTask, route, async ({ raw }, reply) => {
        raw.destroy();
        return reply.hijack();
      });
    };
    const away = async ({ open, ask }: Scene): Promise<void> => {
      await assert.rejects(open(), { code: 'PEER_UNREACHABLE', message: /^switch, which sent the task/ });
      assert.deepEqual((await errorOf(ask(COMMIT))).slice(0, 2), [502, 'PEER_UNREACHABLE']);
    };
    await atWorker(t, away, breaking);
  },
);

test('a token of nobody that is known here names the remedy', async (t) => {
  await atWorker(t, async ({ neo }) => {
    const repository = { bundle: SENT.bundle, base: COMMIT, token: 'x' };
    const task = neo.task(neo.runs[0] ?? '');
    const asked: AdmittedTask = {
      ...task,
      caller: { name: 'stranger', scopes: new Set() },
      dispatch: {
        type: 'TASK_DISPATCH',
        protocolVersion: '2.0',
        brief: 'b',
        task: { taskId: 't', repository },
      },
      parts: [],
      deadlineAt: undefined,
      resumes: 0,
    };
    await assert.rejects(neo.gateway.checkouts.source.open(asked, COMMIT, signal), {
      code: 'PEER_UNREACHABLE',
      message: /^stranger, .* add it to fleet\.agents$/,
    });
  });
});
